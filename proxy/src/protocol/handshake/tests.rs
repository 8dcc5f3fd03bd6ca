//! Golden bytes: greetings of real servers, and what their own clients answered.

use super::*;
use crate::protocol::auth::Plugin;
use proptest::prelude::*;

/// MariaDB 10.11.19's greeting (Debian 12), and the answer of its client: user app, password app, schema tt.
const MARIADB_GREETING: &str = "0a352e352e352d31302e31312e31392d4d6172696144422d302b646562313275312d6c6f6700c2080000\
    362e23624676412100fef7080200ff81150000000000001d0000007e7c71433b3c5d3f60482930006d7973716c5f6e61746976655f7061\
    7373776f726400";
const MARIADB_RESPONSE: &str = "8ca2bf000000100021000000000000000000000000000000000000001d0000006170700014bf7affda4e\
    da7ed19256338f6fa30a6a739b102d7474006d7973716c5f6e61746976655f70617373776f7264007e035f6f73054c696e75780c5f636c\
    69656e745f6e616d650a6c69626d617269616462045f70696404363631390f5f636c69656e745f76657273696f6e06332e332e3230095f\
    706c6174666f726d067838365f36340c70726f6772616d5f6e616d65056d7973716c0c5f7365727665725f686f7374093132372e302e30\
    2e31";
/// MySQL 9.7.4's greeting (Debian sid), and the answer of its client without TLS.
const MYSQL_GREETING: &str = "0a392e372e342d32000c0000001f42151a1337523400ffffff0200ffdf1500000000000000000000\
    5b341b1a784448594e142f380063616368696e675f736861325f70617373776f726400";
const MYSQL_RESPONSE: &str = "8da2bf1900000001ff000000000000000000000000000000000000000000000061707000209213df730d87\
    81425bf13a6804e9accf3e183dcb81f141e46c88c6431856185474740063616368696e675f736861325f70617373776f72640071045f70\
    69640436373530095f706c6174666f726d067838365f3634035f6f73054c696e75780c5f636c69656e745f6e616d65086c69626d797371\
    6c076f735f7573657204726f6f740f5f636c69656e745f76657273696f6e05392e372e340c70726f6772616d5f6e616d65056d7973716c";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |p: &[u8]| u8::from_str_radix(std::str::from_utf8(p).expect("ASCII"), 16).expect("hex digits");
    digits.chunks(2).map(pair).collect()
}

/// Reads a captured greeting and its answer, and checks that the answer proves the password.
fn captured(greeting: &str, response: &str, plugin: Plugin) -> (Greeting, Response) {
    let greeting = Greeting::parse(&bytes(greeting)).expect("a server's greeting");
    let response = Response::parse(&bytes(response)).expect("a client's response");
    assert_eq!(greeting.plugin, plugin.name());
    assert_eq!(response.plugin.as_deref(), Some(plugin.name().as_bytes()));
    assert!(plugin.accepts(&greeting.nonce, b"app", &response.auth), "the captured client knew the password");
    assert_eq!((&response.user[..], response.schema.as_deref()), (&b"app"[..], Some(&b"tt"[..])));
    (greeting, response)
}

#[test]
fn mariadbs_handshake_is_read_and_its_greeting_written_back() {
    let (greeting, response) = captured(MARIADB_GREETING, MARIADB_RESPONSE, Plugin::Native);
    assert_eq!(greeting.server_version, "5.5.5-10.11.19-MariaDB-0+deb12u1-log");
    assert!(!greeting.capabilities.contains(Flags::CLIENT_LONG_PASSWORD), "it says that it is no MySQL");
    assert_eq!((greeting.mariadb, response.mariadb), (0x1d, 0x1d), "its extended capabilities");
    assert_eq!(greeting.encode(), bytes(MARIADB_GREETING));
    assert!(!response.capabilities.contains(Flags::CLIENT_DEPRECATE_EOF));
    assert!(response.attributes.starts_with(b"\x03_os\x05Linux"));
}

#[test]
fn mysqls_handshake_is_read_and_written_back_byte_for_byte() {
    let (greeting, response) = captured(MYSQL_GREETING, MYSQL_RESPONSE, Plugin::CachingSha2);
    assert_eq!((greeting.server_version.as_str(), greeting.connection_id), ("9.7.4-2", 12));
    assert_eq!((greeting.collation, response.collation), (255, 255));
    assert_eq!(greeting.encode(), bytes(MYSQL_GREETING));
    assert_eq!(response.encode(), bytes(MYSQL_RESPONSE));
}

#[test]
fn a_response_without_its_optional_last_fields_is_still_one() {
    let whole = bytes(MYSQL_RESPONSE);
    let until = |text: &[u8]| whole.windows(text.len()).position(|w| w == text).expect("it is there");
    let without_attributes = Response::parse(&whole[..until(b"\x71\x04_pid")]).expect("as servers take it");
    assert!(without_attributes.attributes.is_empty());
    let without_schema = Response::parse(&whole[..until(b"tt\0caching")]).expect("as servers take it");
    assert_eq!(without_schema.schema, None);
}

#[test]
fn an_empty_plugin_name_is_not_the_oldest_plugin() {
    let whole = bytes(MYSQL_RESPONSE);
    let at = whole.windows(7).position(|w| w == b"caching").expect("it is there");
    let response = Response::parse(&[&whole[..at], b"\0"].concat()).expect("a response");
    assert_eq!(response.plugin.as_deref(), Some(&b""[..]));
}

#[test]
fn a_switch_is_read_as_it_is_written() {
    let nonce = [7; NONCE_LEN];
    let (plugin, read) = parse_auth_switch(&auth_switch("caching_sha2_password", &nonce)).expect("a switch");
    assert_eq!((plugin.as_str(), read.as_slice()), ("caching_sha2_password", &nonce[..]));
}

#[test]
fn a_change_of_user_is_read() {
    let change = ChangeUser::parse(b"\x11app\0\x02xxtt\0\x2d\0native\0").expect("well-formed");
    let schema = Some(b"tt".to_vec());
    assert_eq!(change, ChangeUser { user: b"app".to_vec(), has_auth: true, schema, collation: Some(45) });
    let old = ChangeUser::parse(b"\x11app\0\0\0").expect("as MySQL 5.1's clients send it");
    assert_eq!((old.schema, old.collation), (None, None));
}

proptest! {
    #[test]
    fn damaged_packets_never_panic(at in 0usize..250, value in any::<u8>(), cut in 0usize..250) {
        for golden in [MARIADB_GREETING, MARIADB_RESPONSE, MYSQL_GREETING, MYSQL_RESPONSE] {
            let mut damaged = bytes(golden);
            if let Some(byte) = damaged.get_mut(at) {
                *byte = value;
            }
            damaged.truncate(cut);
            let _ = Greeting::parse(&damaged);
            let _ = Response::parse(&damaged);
            let _ = ChangeUser::parse(&damaged);
            let _ = parse_auth_switch(&damaged);
        }
    }
}
