//! Sizes: payloads around the packet border, rows and statements of 40 MB, results that a slow client takes.

use std::sync::OnceLock;
use std::time::Duration;

use integration_tests::differential::compare;
use integration_tests::raw::{Flags, Login, Packet, Reply, Shape, Value};
use integration_tests::{Schema, Telamon, cluster, wait_for_replicas};

/// The longest payload of one packet.
const MAX_PAYLOAD: usize = 0xFF_FFFF;
const MB_40: usize = 40_000_000;

fn telamon() -> &'static Telamon {
    static TELAMON: OnceLock<Telamon> = OnceLock::new();
    TELAMON.get_or_init(|| Telamon::start(""))
}

#[test]
fn statements_around_the_packet_border_arrive_whole() {
    compare(telamon(), |side| {
        for length in [MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, 2 * MAX_PAYLOAD] {
            let frame = "SELECT LENGTH(''), CRC32('')".len();
            let text = "x".repeat((length - 1 - frame) / 2);
            let mut sql = format!("SELECT LENGTH('{text}'), CRC32('{text}')");
            sql.push_str(&" ".repeat(length - 1 - sql.len()));
            assert_eq!(sql.len() + 1, length);
            let reply = side.client.query(&sql);
            assert_eq!(reply.number::<usize>(), text.len(), "a payload of {length} bytes");
        }
    });
}

#[test]
fn rows_around_the_packet_border_arrive_whole() {
    compare(telamon(), |side| {
        for length in [MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, 2 * MAX_PAYLOAD] {
            // One cell: its length takes four bytes below 16 MiB, nine from there on.
            let cell = if length <= MAX_PAYLOAD + 1 { length - 4 } else { length - 9 };
            let reply = side.client.query(&format!("SELECT REPEAT('r', {cell}) UNION ALL SELECT 'next'"));
            assert!(reply.payloads().iter().any(|row| row.len() == length), "a row of {length} bytes");
        }
    });
}

#[test]
fn a_row_that_begins_like_an_eof_packet_is_a_row() {
    // From 16 MiB on the length of a cell begins with 0xFE, as an EOF packet does.
    compare(telamon(), |side| {
        let reply = side.client.query("SELECT REPEAT('e', 16777216), 1 UNION ALL SELECT 'next', 2");
        let begins_like_eof =
            |packet: &Packet| packet.payload.first() == Some(&0xFE) && packet.payload.len() > 9;
        assert_eq!(reply.packets.iter().filter(|packet| begins_like_eof(packet)).count(), 1);
        side.client.query("SELECT 1");
        let id = side.client.prepare("SELECT REPEAT('e', ?), 1");
        side.client.execute(id, &[Value::Number(16_777_300)]);
        side.client.query("SELECT 1");
    });
}

#[test]
fn rows_and_statements_of_40_mb_pass() {
    let schema = Schema::new();
    schema.run(&["CREATE TABLE t (v LONGBLOB)"]);
    let text: String = (0..MB_40 / 1000).map(|n| format!("{n:0999},")).collect();
    telamon().connect(&schema.login()).query(&format!("INSERT INTO t VALUES ('{text}')")).expect_ok();
    wait_for_replicas(cluster());
    for flags in [Flags::empty(), Flags::CLIENT_DEPRECATE_EOF] {
        let mut client = telamon().connect(&schema.login().with(flags));
        let row = client.query("SELECT v FROM t").rows().remove(0).remove(0).expect("not NULL");
        assert!(row == text, "what comes back is what was sent");
        let id = client.prepare("SELECT v FROM t");
        let row = client.execute(id, &[]).payloads().into_iter().find(|payload| payload.len() > MB_40);
        assert!(row.expect("the row").ends_with(text.as_bytes()));
        let id = client.prepare("SELECT CAST(v = ? AS CHAR) FROM t");
        let is_same =
            |reply: Reply| reply.expect_ok().payloads().iter().any(|payload| payload.ends_with(b"\x011"));
        assert!(is_same(client.execute(id, &[Value::Text(text.as_bytes())])));
        for piece in text.as_bytes().chunks(9_000_000) {
            client.send_long_data(id, 0, piece);
        }
        assert!(is_same(client.execute(id, &[Value::Long])));
    }
}

#[test]
fn memory_stays_flat_whatever_passes() {
    let telamon = Telamon::start("");
    let mut client = telamon.connect(&Login::default().in_schema("whoami"));
    client.query("SELECT 1").expect_ok();
    let before = telamon.rss();
    for _ in 0..2 {
        client.query("SELECT REPEAT('m', 40000000)").expect_ok();
        client.query("/*primary*/ SELECT REPEAT('m', 40000000)").expect_ok();
        client.query(&format!("SELECT LENGTH('{}')", "s".repeat(MB_40))).expect_ok();
        client.query("SELECT seq, REPEAT('x', 200) FROM seq_1_to_100000").expect_ok();
    }
    let grown = telamon.peak_rss().saturating_sub(before);
    assert!(grown < 3 * 1024, "{grown} KiB more than before the first large reply");
}

#[test]
fn a_slow_reader_gets_100_000_rows_and_telamon_keeps_none_of_them() {
    let telamon = Telamon::start("");
    let mut client = telamon.connect(&Login::default().in_schema("whoami"));
    client.query("SELECT 1").expect_ok();
    let before = telamon.rss();
    client.send(b"\x03SELECT seq, REPEAT('slow', 250) FROM seq_1_to_100000").unwrap();
    let count = client.read_packet().unwrap();
    assert_eq!(count.payload, [2]);
    // 100 MB are on their way; the client takes a row now and then, so the server has to wait.
    let mut rows = 0;
    while rows < 200 {
        client.read_packet().unwrap();
        rows += 1;
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut other = telamon.connect(&Login::default());
    assert_eq!(other.query("SELECT 'others are served'").text(), "others are served");
    let mut last = Vec::new();
    let mut packets = rows;
    loop {
        let packet = client.read_packet().unwrap();
        packets += 1;
        if packet.payload.first() == Some(&0xFE) && packet.payload.len() < 9 && packets > 3 {
            break;
        }
        last = packet.payload;
    }
    // Two definitions, their EOF, the rows, and the last EOF.
    assert_eq!(packets, 2 + 1 + 100_000 + 1);
    assert!(last.starts_with(b"\x06100000\xfc"), "{:?}", &last[..20]);
    let grown = telamon.peak_rss().saturating_sub(before);
    assert!(grown < 3 * 1024, "{grown} KiB more");
    assert_eq!(client.command(&[0x0E], Shape::One).error(), None);
}
