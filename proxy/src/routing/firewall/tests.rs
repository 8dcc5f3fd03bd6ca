use super::*;
use crate::routing::ServerFamily;

fn names(found: Hazards) -> Vec<&'static str> {
    Hazard::ALL.into_iter().filter(|h| found.contains(*h)).map(Hazard::as_str).collect()
}

fn of(sql: &str) -> Vec<&'static str> {
    let dialect = Dialect { family: ServerFamily::MariaDb, version: 101_106, ..Dialect::default() };
    let found = hazards(sql.as_bytes(), &dialect);
    let hidden = if found.hides_text() { in_strings(sql.as_bytes(), &dialect) } else { Hazards::NONE };
    names(Hazards(found.0 | hidden.0))
}

#[test]
fn a_table_named_like_a_delay_is_no_call_of_it() {
    for sql in [
        "CREATE TABLE sleep (id INT)",
        "INSERT INTO sleep (id) VALUES (1)",
        "REPLACE INTO `benchmark` (a) SELECT 1",
        "WITH sleep (a) AS (SELECT 1) SELECT 1",
        "CALL sleep (1)",
    ] {
        assert_eq!(of(sql), Vec::<&str>::new(), "{sql}");
    }
    assert_eq!(of("SELECT 1 FROM t JOIN u ON sleep (5)"), ["sleep"]);
}

#[test]
fn a_text_that_changes_its_own_meaning_is_not_read() {
    assert_eq!(of(r"SET sql_mode='NO_BACKSLASH_ESCAPES'; SELECT 'a\'; DELETE FROM t; -- '"), ["unread"]);
    assert_eq!(of("SET NAMES gbk; SELECT 1"), ["unread"]);
    assert_eq!(of("SET @@session.sql_mode = ''; SELECT 1"), ["unread"]);
    assert_eq!(of("SET sql_mode='ANSI_QUOTES';"), Vec::<&str>::new());
    assert_eq!(of("SET lock_wait_timeout = 1; SELECT 1"), Vec::<&str>::new());
}

#[test]
fn a_delete_or_update_needs_a_where_of_its_own() {
    for sql in [
        "DELETE FROM t",
        "delete from t limit 5",
        "/* a */ DELETE -- WHERE\n FROM t",
        "DELETE FROM t /* WHERE */",
        "DELETE FROM t WHERE_x",
        "DELETE FROM `where`",
        "DELETE FROM t ORDER BY 'WHERE'",
        "SELECT 1 FROM t WHERE 1; DELETE FROM t",
        "WITH a AS (SELECT 1 FROM u WHERE 1) DELETE FROM t",
        "DELETE a FROM a JOIN (SELECT 1 FROM b WHERE 1) c",
        "/*!50000 DELETE */ FROM t",
        "DELETE FROM t /*!99999999 WHERE 1 */",
        "SET STATEMENT max_statement_time = 1 FOR DELETE FROM t",
        "ANALYZE DELETE FROM t",
        "BEGIN NOT ATOMIC DELETE FROM t; END",
        "CREATE PROCEDURE p() BEGIN IF 1 THEN DELETE FROM t; END IF; END",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t",
        "PREPARE s FROM 'DELETE FROM t'",
        "EXECUTE IMMEDIATE 'DELETE FROM t'",
        "PREPARE s FROM 'SELECT ''x''; DELETE FROM t'",
        "DELETE QUICK HISTORY FROM history",
        "DELETE `HISTORY` FROM history",
        "HELP 'x'; DELETE FROM t",
        "CREATE PROCEDURE p() BEGIN DO 1; help: LOOP DELETE FROM t; END LOOP; END",
    ] {
        assert_eq!(of(sql), ["delete_without_where"], "{sql}");
    }
    for sql in [
        "UPDATE t SET a = 1",
        "UPDATE t SET a = (SELECT b FROM u WHERE u.id = t.id)",
        "WITH a AS (SELECT 1) UPDATE t, a SET x = 1",
        "SET STATEMENT max_statement_time = 1 FOR UPDATE t SET a = 1",
        "EXPLAIN ANALYZE UPDATE t SET a = 1",
        "CREATE TRIGGER x AFTER UPDATE ON t FOR EACH ROW UPDATE u SET a = 1",
    ] {
        assert_eq!(of(sql), ["update_without_where"], "{sql}");
    }
}

#[test]
fn what_has_a_where_or_is_no_change_passes() {
    for sql in [
        "DELETE FROM t WHERE id = 1",
        "DELETE FROM t /*! WHERE id = 1 */",
        "DELETE a FROM a JOIN b USING (id) WHERE b.x = 1",
        "UPDATE t SET a = 1 WHERE id IN (SELECT id FROM u)",
        "UPDATE t SET a = 1 WHERE 1; DELETE FROM t WHERE 1",
        "SELECT * FROM t FOR UPDATE",
        "SELECT * FROM t FOR UPDATE OF t",
        "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1",
        "CREATE TABLE t (a INT, b TIMESTAMP ON UPDATE NOW(), FOREIGN KEY (a) REFERENCES u (a) ON DELETE CASCADE)",
        "GRANT SELECT, UPDATE, DELETE, DROP ON a.* TO b",
        "GRANT DELETE ON a.* TO b",
        "CREATE TRIGGER x BEFORE DELETE ON t FOR EACH ROW SET @a = 1",
        "SELECT 'DELETE FROM t', `delete`, t.delete FROM t",
        "EXPLAIN DELETE FROM t",
        "DELETE HISTORY FROM t",
        "DELETE HISTORY FROM s.t BEFORE SYSTEM_TIME NOW()",
        "HELP 'DELETE'",
        "HELP DELETE",
        "/* a */ help UPDATE; SELECT 1",
        "PREPARE s FROM 'SELECT 1'; INSERT INTO t VALUES ('DELETE FROM t')",
        "EXECUTE IMMEDIATE 'SELECT ?' USING 'DELETE FROM t'",
        "DESC UPDATE t SET a = 1",
        "PREPARE s FROM 'DELETE FROM t WHERE id = ?'",
        "EXECUTE s",
        "CREATE PROCEDURE p() DELETE FROM t WHERE id = 1",
        "",
    ] {
        assert_eq!(of(sql), [""; 0], "{sql}");
    }
}

#[test]
fn a_server_without_history_deletes_from_a_table_of_that_name() {
    let old = Dialect { family: ServerFamily::MariaDb, version: 100_223, ..Dialect::default() };
    for dialect in [Dialect::default(), old] {
        assert_eq!(names(hazards(b"DELETE HISTORY FROM history", &dialect)), ["delete_without_where"]);
    }
}

#[test]
fn sleeping_and_burning_calls_are_found_wherever_they_stand() {
    for sql in [
        "SELECT SLEEP(5)",
        "select sleep (5)",
        "SELECT `sleep`(5)",
        "SELECT 1 FROM t WHERE a = 1 OR BENCHMARK(1e9, MD5(1))",
        "DO SLEEP(1)",
        "SELECT /*!50000 SLEEP*/(5)",
        "INSERT INTO t SELECT SLEEP(1)",
        "WITH a AS (SELECT SLEEP(1)) SELECT * FROM a",
        "PREPARE s FROM 'DO SL\\EEP(1)'",
    ] {
        assert_eq!(of(sql), ["sleep"], "{sql}");
    }
    for sql in
        ["SELECT sleep FROM t", "SELECT 'SLEEP(5)'", "SELECT a.sleep(1), a.`sleep`(2)", "SELECT asleep(1)"]
    {
        assert_eq!(of(sql), [""; 0], "{sql}");
    }
}

#[test]
fn drops_and_truncations_are_told_from_their_namesakes() {
    for sql in [
        "DROP TABLE IF EXISTS t",
        "drop database d",
        "ALTER TABLE t DROP PARTITION p",
        "SELECT 1; DROP TABLE t",
        "CREATE OR REPLACE TABLE t (a INT)",
    ] {
        assert_eq!(of(sql), ["drop"], "{sql}");
    }
    for sql in [
        "TRUNCATE t",
        "TRUNCATE TABLE t",
        "ALTER TABLE t TRUNCATE PARTITION p",
        "BEGIN NOT ATOMIC TRUNCATE t; END",
    ] {
        assert_eq!(of(sql), ["truncate"], "{sql}");
    }
    for sql in [
        "DROP TEMPORARY TABLE t",
        "DROP VIEW v",
        "ALTER TABLE t DROP COLUMN c, DROP INDEX i",
        "CREATE OR REPLACE VIEW v AS SELECT 1",
        "REPLACE INTO t VALUES (1)",
        "SELECT TRUNCATE(1.5, 0), truncate FROM t",
    ] {
        assert_eq!(of(sql), [""; 0], "{sql}");
    }
}

#[test]
fn what_cannot_be_read_is_named_so() {
    for sql in ["SELECT 'open", "PREPARE s FROM @text", "EXECUTE IMMEDIATE CONCAT('DELETE ', 'FROM t')"] {
        assert_eq!(of(sql), ["unread"], "{sql}");
    }
    let gbk = Dialect::default().with_character_set("gbk");
    assert_eq!(names(hazards(b"SELECT '\xbf\\' OR SLEEP(5) -- '", &gbk)), ["unread"]);
}

#[test]
fn every_hazard_has_a_bit_of_its_own() {
    let all = Hazard::ALL.into_iter().fold(Hazards::NONE, Hazards::with);
    assert_eq!(all.0.count_ones() as usize, Hazard::ALL.len());
    assert_eq!(all.first_common(Hazards::NONE.with(Hazard::Drop)), Some(Hazard::Drop));
    assert_eq!(Hazards(IN_STRING).first_common(Hazards(IN_STRING)), None);
}
