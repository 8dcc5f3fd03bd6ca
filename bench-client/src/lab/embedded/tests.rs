//! The embedded servers through an ordinary client.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};

use super::*;

fn cluster() -> (EmbeddedServer, EmbeddedServer) {
    let ports = crate::lab::port::free_ports(2).unwrap();
    let store = Arc::new(Store::default());
    let primary = EmbeddedServer::new("primary", Role::Primary, 1, ports[0], Arc::clone(&store));
    let replica = EmbeddedServer::new("replica1", Role::Replica, 2, ports[1], store);
    primary.start().unwrap();
    replica.start().unwrap();
    (primary, replica)
}

async fn connect(server: &EmbeddedServer, password: &str) -> mysql_async::Result<Conn> {
    let builder = OptsBuilder::default().ip_or_hostname("127.0.0.1").tcp_port(server.address().port());
    Conn::new(builder.prefer_socket(false).user(Some("app")).pass(Some(password))).await
}

const TABLE: &str = "CREATE TABLE d.sbtest1 (id INT, k INT, c CHAR(120), pad CHAR(60), PRIMARY KEY (id))";

#[tokio::test]
async fn rows_written_on_the_primary_are_read_on_the_replica_by_text_and_by_prepared_statement() {
    let (primary, replica) = cluster();
    let mut writer = connect(&primary, "app").await.unwrap();
    writer.query_drop("CREATE DATABASE d").await.unwrap();
    writer.query_drop(TABLE).await.unwrap();
    writer
        .query_drop("INSERT INTO d.sbtest1 (id, k, c, pad) VALUES (1, 5, 'one', ''), (2, 6, 'two', '')")
        .await
        .unwrap();
    assert_eq!(writer.affected_rows(), 2);
    writer.exec_drop("UPDATE d.sbtest1 SET c=? WHERE id=?", ("2nd", 2)).await.unwrap();
    let mut reader = connect(&replica, "app").await.unwrap();
    reader.query_drop("USE d").await.unwrap();
    let all: Vec<(i64, i64, String, String)> = reader.query("SELECT * FROM sbtest1").await.unwrap();
    assert_eq!(all[1], (2, 6, "2nd".into(), String::new()));
    let c: Option<String> = reader.exec_first("SELECT c FROM sbtest1 WHERE id=?", (1,)).await.unwrap();
    assert_eq!(c.as_deref(), Some("one"));
    let sum: Option<i64> =
        reader.query_first("SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 1 AND 9").await.unwrap();
    assert_eq!(sum, Some(11));
    let status: Vec<(String, u64)> = reader.query("SHOW GLOBAL STATUS LIKE 'Com_select'").await.unwrap();
    assert!(status[0].1 >= 3, "{status:?}");
}

#[tokio::test]
async fn a_replica_refuses_writes_and_a_wrong_password_is_refused() {
    let (_primary, replica) = cluster();
    let mut app = connect(&replica, "app").await.unwrap();
    let error = app.query_drop("CREATE DATABASE d").await.unwrap_err();
    let mysql_async::Error::Server(error) = error else { panic!("{error}") };
    assert_eq!(error.code, 1290);
    assert!(connect(&replica, "wrong").await.is_err());
    assert!(connect(&replica, "").await.is_err());
}

#[tokio::test]
async fn a_stopped_server_closes_its_connections_and_starts_again_with_the_rows() {
    let (primary, _replica) = cluster();
    let mut app = connect(&primary, "app").await.unwrap();
    app.query_drop("CREATE DATABASE d").await.unwrap();
    primary.stop().unwrap();
    assert!(app.query_drop("SELECT 1").await.is_err());
    assert!(connect(&primary, "app").await.is_err());
    primary.start().unwrap();
    let mut app = connect(&primary, "app").await.unwrap();
    app.query_drop("USE d").await.unwrap();
}
