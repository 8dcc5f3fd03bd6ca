//! Peers that do not speak the protocol, stop, or vanish: each is closed in bounded time and logged once, nothing
//! of it stays behind, and the others are served.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::RangeInclusive;
use std::time::Duration;

use integration_tests::raw::{Client, Login, Shape};
use integration_tests::{Telamon, account, cluster, root, wait_for, within};

/// Within this time everything that was left behind must be gone.
const SOON: Duration = Duration::from_secs(10);

/// A Telamon with short limits, used by one account only, so that the servers can tell what it left with them.
struct Bench {
    telamon: Telamon,
    user: &'static str,
    files: usize,
}

impl Bench {
    fn new(user: &'static str) -> Bench {
        account(cluster(), user);
        let telamon = Telamon::start(&format!(
            "[[users]]\nname = \"{user}\"\npassword = \"{user}\"\n\
             [client]\nconnect_timeout_ms = 1000\nwrite_timeout_ms = 1000\n\
             [pool]\nidle_ms = 1\n"
        ));
        let bench = Bench { telamon, user, files: 0 };
        // What is opened once and kept, is open now.
        bench.still_serves();
        bench.nothing_left_on_the_servers();
        Bench { files: bench.telamon.open_files(), ..bench }
    }

    fn login(&self) -> Login {
        Login::new(self.user, self.user)
    }

    fn client(&self) -> Client {
        self.telamon.connect(&self.login())
    }

    fn socket(&self) -> TcpStream {
        let socket = TcpStream::connect(self.telamon.address).expect("telamon listens");
        socket.set_read_timeout(Some(SOON)).expect("it is a socket");
        socket
    }

    fn still_serves(&self) {
        let mut client = self.client();
        assert_eq!(client.query("SELECT 1 FROM whoami.t").text(), "1");
        client.query("DO 1").expect_ok();
        assert!(client.quit());
    }

    fn nothing_left_on_the_servers(&self) {
        for server in cluster().servers() {
            let mut root = root(server);
            let open =
                format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{}'", self.user);
            wait_for("the servers' connections are closed", SOON, || {
                (root.query(&open).number::<u32>() == 0).then_some(())
            });
        }
    }

    /// All is as before but for so many more lines of log about ended sessions.
    fn is_clean(&self, lines: RangeInclusive<usize>) {
        self.still_serves();
        self.nothing_left_on_the_servers();
        wait_for("files and sockets are closed", SOON, || {
            (self.telamon.open_files() <= self.files).then_some(())
        });
        let ended = || self.telamon.log_lines("session ended");
        wait_for("each end is logged", SOON, || (ended().len() >= *lines.start()).then_some(()));
        assert!(lines.contains(&ended().len()), "one line each, {lines:?}: {:#?}", ended());
        assert_eq!(self.telamon.log_lines("panicked"), [""; 0]);
    }
}

/// All that the peer still says until it closes.
fn rest(socket: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset is an end too.
    let _ = socket.read_to_end(&mut bytes);
    bytes
}

fn closes(what: &str, socket: &mut TcpStream) -> Vec<u8> {
    within(what, SOON, || rest(socket))
}

#[test]
fn random_bytes_and_other_protocols_are_refused() {
    let bench = Bench::new("hostile1");
    let mut seed = 42_u64;
    let mut random = || {
        // Knuth's generator: the same bytes in each run.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed.to_le_bytes()[7]
    };
    let mut attacks: Vec<Vec<u8>> =
        (0..60).map(|size| (0..size * 7 + 1).map(|_| random()).collect()).collect();
    attacks.push(b"GET / HTTP/1.1\r\nHost: telamon\r\n\r\n".to_vec());
    attacks.push(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec());
    attacks.push(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec());
    attacks.push([&[0xFF, 0xFF, 0xFF, 1][..], &[0; 100_000]].concat());
    attacks.push(vec![0; 4096]);
    attacks.push([&[32, 0, 0, 1][..], &[0xFF; 32]].concat());
    for attack in &attacks {
        let mut socket = bench.socket();
        socket.write_all(attack).unwrap();
        let said = closes("garbage", &mut socket);
        assert_eq!(said.get(4), Some(&10), "the greeting comes first");
    }
    bench.is_clean(attacks.len()..=attacks.len());
}

#[test]
fn an_http_request_is_told_1043() {
    let bench = Bench::new("hostile2");
    let mut socket = bench.socket();
    socket.write_all(b"GET / HTTP/1.1\r\nHost: telamon\r\n\r\n").unwrap();
    let said = closes("http", &mut socket);
    assert!(said.ends_with(b"Bad handshake"), "{}", String::from_utf8_lossy(&said));
    bench.is_clean(1..=1);
}

#[test]
fn half_a_handshake_is_closed_when_its_time_is_over() {
    let bench = Bench::new("hostile3");
    let mut silent = bench.socket();
    let mut half = bench.socket();
    half.write_all(&[200, 0, 0, 1, 0x85, 0xA6, 0xFF, 0x01]).unwrap();
    let mut slow = bench.socket();
    slow.write_all(&[200]).unwrap();
    for socket in [&mut silent, &mut half, &mut slow] {
        closes("half a handshake", socket);
    }
    bench.is_clean(3..=3);
}

#[test]
fn a_tls_handshake_that_stops_or_lies_is_closed() {
    let bench = Bench::new("hostile4");
    let request = {
        let flags = 0x0000_0A85_u32 | 0x0008_8200; // with CLIENT_SSL
        [&[32, 0, 0, 1][..], &flags.to_le_bytes(), &[0, 0, 0, 1, 45], &[0; 23]].concat()
    };
    for follow_up in [&b""[..], b"this is not TLS at all, is it?\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"] {
        let mut socket = bench.socket();
        socket.write_all(&request).unwrap();
        socket.write_all(follow_up).unwrap();
        closes("half a TLS handshake", &mut socket);
    }
    bench.is_clean(3..=3);
}

#[test]
fn a_port_scan_leaves_no_line_in_the_log() {
    let bench = Bench::new("hostile5");
    for _ in 0..20 {
        drop(bench.socket());
    }
    let mut polite = bench.socket();
    polite.shutdown(Shutdown::Write).unwrap();
    closes("a scan", &mut polite);
    bench.is_clean(0..=0);
}

#[test]
fn a_client_that_stops_reading_is_disconnected() {
    let bench = Bench::new("hostile6");
    for (round, target) in [(1, "/*primary*/"), (2, "/*replica*/")] {
        let mut client = bench.client();
        let sql = format!("\x03{target} SELECT seq, REPEAT('x', 1000) FROM whoami.seq_1_to_1000000");
        client.send(sql.as_bytes()).unwrap();
        wait_for("the client is given up", SOON, || {
            (bench.telamon.log_lines("session ended").len() == round).then_some(())
        });
        bench.nothing_left_on_the_servers();
    }
    bench.is_clean(2..=2);
}

#[test]
fn a_client_that_vanishes_in_the_middle_of_a_result_leaves_nothing() {
    let bench = Bench::new("hostile7");
    for target in ["/*primary*/", "/*replica*/"] {
        let mut client = bench.client();
        let sql = format!("\x03{target} SELECT seq, REPEAT('x', 1000) FROM whoami.seq_1_to_10000000");
        client.send(sql.as_bytes()).unwrap();
        for _ in 0..100 {
            client.read_packet().unwrap();
        }
        drop(client);
        bench.nothing_left_on_the_servers();
    }
    bench.is_clean(0..=2);
}

#[test]
fn a_client_that_vanishes_during_a_long_statement_has_it_killed() {
    let bench = Bench::new("hostile8");
    let mut client = bench.client();
    client.send(b"\x03SELECT SLEEP(100)").unwrap();
    let running = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{}' AND info LIKE '%SLEEP%'",
        bench.user
    );
    let mut roots: Vec<Client> = cluster().servers().iter().map(root).collect();
    wait_for("the statement runs", SOON, || {
        roots.iter_mut().any(|root| root.query(&running).number::<u32>() > 0).then_some(())
    });
    drop(client);
    bench.nothing_left_on_the_servers();
    bench.is_clean(0..=1);
}

#[test]
fn a_client_that_vanishes_in_a_transaction_has_it_rolled_back() {
    let bench = Bench::new("hostile9");
    let mut client = bench.client();
    client.query("CREATE DATABASE IF NOT EXISTS vanish").expect_ok();
    client.query("CREATE OR REPLACE TABLE vanish.t (id INT)").expect_ok();
    client.query("BEGIN").expect_ok();
    client.query("INSERT INTO vanish.t VALUES (1)").expect_ok();
    drop(client);
    bench.nothing_left_on_the_servers();
    assert_eq!(root(cluster().primary()).query("SELECT COUNT(*) FROM vanish.t").text(), "0");
    bench.is_clean(0..=1);
}

#[test]
fn garbage_after_the_login_is_answered_or_closed() {
    let bench = Bench::new("hostile10");
    // A length of 16 MB - 1 and no more; a packet without a payload; half a header.
    for garbage in [&[0xFF, 0xFF, 0xFE, 0, 3][..], &[0, 0, 0, 0], &[1, 0]] {
        let mut client = bench.client();
        client.query("DO 1").expect_ok();
        client.write_bytes(garbage).unwrap();
        drop(client);
    }
    bench.nothing_left_on_the_servers();
    let mut client = bench.client();
    for bytes in
        [&[0xFF; 40][..], &[0x17, 0xFF], &[0x18, 1], &[0x19], &[0x1C, 0, 0], &[0x11], &[0x04], &[0x1B]]
    {
        client.send(bytes).unwrap();
        if matches!(bytes[0], 0x18 | 0x19) {
            continue; // no reply
        }
        if client.read_packet().is_err() {
            client = bench.client(); // it was closed, which is as good as an answer
        }
    }
    drop(client);
    bench.is_clean(0..=8);
}

#[test]
fn a_packet_out_of_order_ends_the_session() {
    let bench = Bench::new("hostile11");
    let mut client = bench.client();
    client.query("DO 1").expect_ok();
    client.write_bytes(&[9, 0, 0, 5, 3]).unwrap();
    client.write_bytes(b"SELECT 1").unwrap();
    within("out of order", SOON, || {
        // An ERR packet may come first; whatever its id, no result does.
        if let Ok(packet) = client.read_packet() {
            assert_eq!(packet.payload.first(), Some(&0xFF));
        }
        let _ = client.is_closed();
    });
    bench.is_clean(1..=1);
}

#[test]
fn many_hostile_clients_at_once_do_not_keep_others_from_being_served() {
    let bench = Bench::new("hostile12");
    let idle: Vec<TcpStream> = (0..300).map(|_| bench.socket()).collect();
    let mut client = within("a login among 300 silent clients", Duration::from_secs(5), || bench.client());
    client.query("SELECT 1").expect_ok();
    assert_eq!(client.command(&[0x0E], Shape::One).error(), None);
    assert!(client.quit());
    for mut socket in idle {
        closes("a silent client", &mut socket);
    }
    bench.is_clean(300..=300);
}
