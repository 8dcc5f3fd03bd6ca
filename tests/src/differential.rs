//! The same commands straight to the primary and through Telamon: every packet must be the same, byte for byte.

use crate::raw::{Client, Endpoint, Flags, Login, Packet, Reply};
use crate::{Schema, Telamon, cluster, wait_for_replicas};

/// One side of a comparison.
pub struct Side<'a> {
    /// The connection.
    pub client: Client,
    /// Where it goes.
    pub endpoint: Endpoint,
    /// The schema it works in, empty at the start.
    pub schema: &'a str,
}

impl Side<'_> {
    /// A statement that writes: waits until reads see it on the replicas too.
    pub fn write(&mut self, sql: &str) -> Reply {
        let reply = self.client.query(sql);
        wait_for_replicas(cluster());
        reply
    }
}

/// Runs `script` on both sides, each beginning with the same empty schema, with and without CLIENT_DEPRECATE_EOF.
///
/// # Panics
/// A packet differs; the text shows the command and both packets.
pub fn compare(telamon: &Telamon, script: impl Fn(&mut Side<'_>)) {
    compare_as(telamon, &Login::default(), script);
}

/// The same with a login of one's own.
///
/// # Panics
/// A packet differs.
pub fn compare_as(telamon: &Telamon, login: &Login, script: impl Fn(&mut Side<'_>)) {
    let mut differences = Vec::new();
    for flags in [Flags::empty(), Flags::CLIENT_DEPRECATE_EOF] {
        let schema = Schema::new();
        let login = Login { schema: Some(schema.name.clone()), ..login.clone() }.with(flags);
        let run = |endpoint: Endpoint| {
            schema.clear();
            let mut client = Client::connect(&endpoint, &login).unwrap_or_else(|refused| panic!("{refused}"));
            assert_eq!(
                client.capabilities & Flags::CLIENT_DEPRECATE_EOF,
                flags,
                "what was asked for is offered"
            );
            client.transcript = Some(Vec::new());
            let mut side = Side { client, endpoint, schema: &schema.name };
            script(&mut side);
            side.client.transcript.take().expect("it was kept")
        };
        let direct = run(cluster().primary().address().into());
        let proxied = run(telamon.endpoint());
        assert_eq!(direct.len(), proxied.len(), "number of commands: the script itself took another way");
        let pairs = direct.iter().zip(&proxied);
        let found = pairs.filter_map(|(direct, proxied)| difference(direct, proxied));
        differences.extend(found.map(|text| format!("({flags:?}) {text}")));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The first packet by which two replies to a command differ.
fn difference((command, direct): &(String, Reply), (through, proxied): &(String, Reply)) -> Option<String> {
    assert_eq!(command, through, "the script itself took another way");
    let (count, count_through) = (direct.packets.len(), proxied.packets.len());
    let mut pairs = direct.packets.iter().zip(&proxied.packets).enumerate();
    match pairs.find(|(_, (direct, proxied))| direct != proxied) {
        Some((index, (direct, proxied))) => Some(format!(
            "{command}, packet {index} of {count}:\n direct {}\nproxied {}",
            shown(direct),
            shown(proxied)
        )),
        None if count == count_through => None,
        None => Some(format!("{command}: {count} packets direct, {count_through} proxied")),
    }
}

fn shown(Packet { sequence, payload }: &Packet) -> String {
    let head = &payload[..payload.len().min(200)];
    format!("#{sequence}, {} bytes: {head:02x?} {:?}", payload.len(), String::from_utf8_lossy(head))
}
