-- What the reads of proxy/testdata/corpus.tsv name, one statement a line, so that as many of them as possible run.
-- Lines that begin with /*M! are for MariaDB alone. {schema} is the schema in which the reads run.
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(60), b VARCHAR(60), c VARCHAR(60), d DATETIME, e INT, f INT, g INT, i INT, j VARCHAR(60), k INT, s VARCHAR(60), x INT, y VARCHAR(60), z INT, data JSON, name VARCHAR(60), pad CHAR(60), ip VARBINARY(16), b_id INT, `into` INT, `lock` INT, lock_version INT, update_time DATETIME, KEY i (a), KEY i1 (a), FULLTEXT KEY words (a, b), FULLTEXT KEY word (a))
INSERT INTO t (id, a, d, data, name) VALUES (1, '1', '2026-01-01', '{"a": 1, "ids": [3]}', 'abc'), (2, NULL, NULL, NULL, NULL)
/*M! ALTER TABLE t ADD SYSTEM VERSIONING */
CREATE TABLE u (id INT PRIMARY KEY, a VARCHAR(60), b VARCHAR(60), c VARCHAR(60), d VARCHAR(60), e VARCHAR(60), KEY i1 (a))
INSERT INTO u (id, a) VALUES (1, '1')
CREATE VIEW v AS SELECT id, e FROM u
CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60), KEY k_1 (k))
INSERT INTO sbtest1 VALUES (1, 1, 'c', 'pad'), (150, 2, 'c', 'pad')
CREATE TABLE t1 (id INT PRIMARY KEY, a INT, intcol1 INT, charcol1 VARCHAR(60))
CREATE TABLE t2 (id INT PRIMARY KEY)
CREATE TABLE t3 (id INT PRIMARY KEY)
CREATE TABLE `2t` (`1a` INT)
CREATE TABLE `for update` (id INT)
CREATE TABLE `delete` (`update` INT, `insert` INT)
CREATE TABLE customer (c_id INT, c_w_id INT, c_d_id INT, c_discount INT, c_last CHAR(9), c_credit CHAR(9))
CREATE TABLE warehouse (w_id INT, w_tax INT)
CREATE TABLE geo (g GEOMETRY NOT NULL)
INSERT INTO geo VALUES (ST_GeomFromText('POINT(1 1)'))
CREATE TABLE django_session (session_key CHAR(40) PRIMARY KEY, session_data TEXT, expire_date DATETIME)
CREATE TABLE auth_user (id INT PRIMARY KEY, username VARCHAR(60))
CREATE TABLE app_a (id INT PRIMARY KEY)
CREATE TABLE app_b (id INT PRIMARY KEY, a_id INT)
INSERT INTO app_a VALUES (1)
INSERT INTO app_b VALUES (1, 1), (2, 1)
CREATE TABLE wp_options (option_name VARCHAR(60), option_value TEXT, autoload VARCHAR(9))
CREATE TABLE wp_posts (ID INT PRIMARY KEY, post_title TEXT, post_content TEXT, post_date DATETIME, post_type VARCHAR(20), post_status VARCHAR(20))
INSERT INTO wp_posts VALUES (1, 'a', 'b', '2026-01-01', 'post', 'publish')
CREATE TABLE wp_postmeta (meta_id INT, post_id INT, meta_key VARCHAR(60), meta_value TEXT)
CREATE TABLE wp_terms (term_id INT, name VARCHAR(60))
CREATE TABLE wp_term_taxonomy (term_taxonomy_id INT, term_id INT, taxonomy VARCHAR(60))
CREATE TABLE wp_term_relationships (term_taxonomy_id INT, object_id INT)
CREATE TABLE wp_comments (comment_approved VARCHAR(20))
CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(60), email VARCHAR(60), active INT, team INT, score INT, meta JSON, tags JSON, created_at DATETIME, deleted_at DATETIME)
INSERT INTO users (id, name, email, meta, tags) VALUES (1, 'a', 'a@b.c', '{"a": {"b": 1}}', '["a"]')
CREATE TABLE posts (id INT PRIMARY KEY, user_id INT, title VARCHAR(60), state INT)
CREATE TABLE user (id INT PRIMARY KEY, name VARCHAR(60))
CREATE TABLE post (id INT PRIMARY KEY, user_id INT, title VARCHAR(60))
CREATE TABLE orders (amount INT, created_at DATETIME)
CREATE TABLE schema_migrations (version VARCHAR(60))
CREATE TABLE migrations (migration VARCHAR(60), batch INT)
CREATE TABLE node (id INT PRIMARY KEY, parent INT)
INSERT INTO node VALUES (1, NULL), (2, 1)
CREATE TABLE a (id INT PRIMARY KEY, k INT, title VARCHAR(60), FULLTEXT KEY (title))
CREATE TABLE b (id INT PRIMARY KEY, aid INT, x INT, s VARCHAR(60))
CREATE TABLE c (id INT PRIMARY KEY, bid INT, y INT)
CREATE TABLE d (id INT PRIMARY KEY, cid INT)
CREATE TABLE e (id INT PRIMARY KEY, did INT)
CREATE TABLE f (id INT PRIMARY KEY, eid INT)
CREATE TABLE g (id INT PRIMARY KEY, fid INT)
CREATE TABLE h (id INT PRIMARY KEY, gid INT)
CREATE PROCEDURE p() SELECT 1
CREATE FUNCTION f() RETURNS INT DETERMINISTIC NO SQL RETURN 1
CREATE EVENT e ON SCHEDULE AT '2037-01-01 00:00:00' DO DELETE FROM t
CREATE TRIGGER trg BEFORE INSERT ON u FOR EACH ROW SET NEW.b = 'x'
/*M! CREATE SEQUENCE s */
CREATE DATABASE sbtest
CREATE TABLE sbtest.t (id INT PRIMARY KEY, a INT)
CREATE DATABASE db
CREATE TABLE db.t (id INT PRIMARY KEY, `a``b` INT, `select` INT, a INT)
CREATE DATABASE db1
CREATE TABLE db1.t (id INT PRIMARY KEY, a INT)
CREATE DATABASE db2
CREATE TABLE db2.u (id INT PRIMARY KEY)
CREATE DATABASE a
CREATE TABLE a.t (id INT PRIMARY KEY, a INT)
