//! The lab against real servers, where this machine has them.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::*;

/// The flavors whose server program is installed here.
fn installed() -> Vec<Flavor> {
    [Flavor::MariaDb, Flavor::Mysql].into_iter().filter(|flavor| Program::find(*flavor).is_ok()).collect()
}

#[tokio::test]
async fn a_cluster_replicates_and_its_replicas_refuse_writes() {
    for flavor in installed() {
        let cluster = Cluster::start(flavor, Options::default()).await.unwrap();
        let mut app = cluster.primary().connect_app().await.unwrap();
        app.query_drop("CREATE DATABASE d").await.unwrap();
        app.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)").await.unwrap();
        app.query_drop("INSERT INTO d.t VALUES (7)").await.unwrap();
        cluster.wait_for_replicas().await.unwrap();
        for (replica, id) in cluster.replicas().iter().zip([2, 3]) {
            let mut app = replica.connect_app().await.unwrap();
            let row: (u32, u32) = app.query_first("SELECT id, @@server_id FROM d.t").await.unwrap().unwrap();
            assert_eq!(row, (7, id), "{flavor}");
        }
        let mut monitor =
            Conn::new(cluster.replicas()[0].opts(MONITOR_USER, MONITOR_PASSWORD)).await.unwrap();
        let read_only: u8 = monitor.query_first("SELECT @@read_only").await.unwrap().unwrap();
        assert_eq!(read_only, 1);
        monitor.query_drop("SHOW REPLICA STATUS").await.unwrap();
        cluster.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_killed_server_starts_again_on_its_port_with_its_data() {
    for flavor in installed() {
        let cluster = Cluster::start(flavor, Options::default()).await.unwrap();
        let replica = &cluster.replicas()[0];
        let (address, pid) = (replica.address(), replica.pid());
        replica.kill().await.unwrap();
        assert!(!replica.is_running() && replica.pid().is_none());
        assert!(matches!(replica.suspend(), Err(LabError::NotRunning { .. })));
        let mut app = cluster.primary().connect_app().await.unwrap();
        app.query_drop("CREATE DATABASE written_while_it_was_away").await.unwrap();
        replica.start().await.unwrap();
        assert!(matches!(replica.start().await, Err(LabError::AlreadyRunning { .. })));
        assert_eq!(replica.address(), address);
        assert_ne!(replica.pid(), pid);
        cluster.wait_for_replicas().await.unwrap();
        let mut app = replica.connect_app().await.unwrap();
        app.query_drop("USE written_while_it_was_away").await.unwrap();
        replica.suspend().unwrap();
        replica.resume().unwrap();
        app.ping().await.unwrap();
    }
}

#[tokio::test]
async fn the_embedded_flavor_is_a_cluster_like_the_others() {
    let cluster = Cluster::start(Flavor::Embedded, Options::default()).await.unwrap();
    let replica = cluster.server("replica2").unwrap();
    assert_eq!((replica.server_id(), replica.role(), replica.pid()), (3, Role::Replica, None));
    replica.suspend().unwrap();
    replica.resume().unwrap();
    let mut root = replica.connect_root().await.unwrap();
    let row: (u32, u8) = root.query_first("SELECT @@server_id, @@read_only").await.unwrap().unwrap();
    assert_eq!(row, (3, 1));
    replica.kill().await.unwrap();
    assert!(replica.connect_app().await.is_err());
    replica.start().await.unwrap();
    replica.connect_app().await.unwrap();
    cluster.wait_for_replicas().await.unwrap();
}

#[tokio::test]
async fn the_configuration_names_every_server_with_its_role_and_the_account() {
    let cluster = Cluster::start(Flavor::Embedded, Options::default()).await.unwrap();
    let address = |at: usize| cluster.servers()[at].address();
    let expected = format!(
        "listen = [\"127.0.0.1:4321\"]\n\n\
         [[servers]]\nname = \"primary\"\naddress = \"{}\"\nrole = \"primary\"\n\n\
         [[servers]]\nname = \"replica1\"\naddress = \"{}\"\nrole = \"replica\"\nweight = 1\n\n\
         [[servers]]\nname = \"replica2\"\naddress = \"{}\"\nrole = \"replica\"\nweight = 1\n\n\
         [[users]]\nname = \"app\"\npassword = \"app\"\n",
        address(0),
        address(1),
        address(2)
    );
    assert_eq!(cluster.telamon_toml(4321), expected);
}
