//! Capability flags: which ones Telamon can relay, offers to clients and asks of servers.

use super::CapabilityFlags as Flags;

/// Flags that only say how the connection phase itself is laid out. Each side negotiates its own.
const CONNECTION_PHASE: Flags = Flags::CLIENT_CONNECT_WITH_DB
    .union(Flags::CLIENT_SSL)
    .union(Flags::CLIENT_SECURE_CONNECTION)
    .union(Flags::CLIENT_PLUGIN_AUTH)
    .union(Flags::CLIENT_CONNECT_ATTRS)
    .union(Flags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(Flags::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS);

/// Flags that change the meaning or the encoding of commands and replies, and that the relay understands.
///
/// Not among them: COMPRESS and ZSTD (no compression yet), OPTIONAL_RESULTSET_METADATA and MariaDB's CACHE_METADATA
/// (a reply may lack its column definitions), QUERY_ATTRIBUTES (a prefix before the statement's text),
/// multi-factor authentication, and MariaDB's extended capabilities but for
/// [`MARIADB_RELAYED`].
const COMMAND_PHASE: Flags = Flags::CLIENT_LONG_PASSWORD
    .union(Flags::CLIENT_FOUND_ROWS)
    .union(Flags::CLIENT_LONG_FLAG)
    .union(Flags::CLIENT_NO_SCHEMA)
    .union(Flags::CLIENT_ODBC)
    .union(Flags::CLIENT_LOCAL_FILES)
    .union(Flags::CLIENT_IGNORE_SPACE)
    .union(Flags::CLIENT_PROTOCOL_41)
    .union(Flags::CLIENT_INTERACTIVE)
    .union(Flags::CLIENT_IGNORE_SIGPIPE)
    .union(Flags::CLIENT_TRANSACTIONS)
    .union(Flags::CLIENT_RESERVED)
    .union(Flags::CLIENT_MULTI_STATEMENTS)
    .union(Flags::CLIENT_MULTI_RESULTS)
    .union(Flags::CLIENT_PS_MULTI_RESULTS)
    .union(Flags::CLIENT_SESSION_TRACK)
    .union(Flags::CLIENT_DEPRECATE_EOF);

/// Without these a client or a server is older than anything Telamon relays.
const REQUIRED: Flags = Flags::CLIENT_PROTOCOL_41.union(Flags::CLIENT_SECURE_CONNECTION);

/// What the greeting offers a client, given what the primary offers.
pub fn offered_to_client(primary: Flags, tls: bool) -> Flags {
    let always = REQUIRED | Flags::CLIENT_PLUGIN_AUTH | Flags::CLIENT_CONNECT_WITH_DB;
    let mut offer = (primary & (COMMAND_PHASE | CONNECTION_PHASE)) | always;
    offer |= Flags::CLIENT_CONNECT_ATTRS | Flags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA;
    offer.set(Flags::CLIENT_SSL, tls);
    offer
}

/// What the greeting offers before any server has been reached: MySQL 8's set without what Telamon cannot relay.
pub fn assumed_of_primary() -> Flags {
    COMMAND_PHASE | CONNECTION_PHASE
}

/// MariaDB's extended capabilities that the relay understands: column definitions that say more of their type.
/// Not CACHE_METADATA, STMT_BULK_OPERATIONS and the progress reports.
pub const MARIADB_RELAYED: u32 = 0x0000_0008;

/// What Telamon asks for where it is an ordinary client itself.
pub fn plain_client() -> Flags {
    REQUIRED | Flags::CLIENT_LONG_PASSWORD | Flags::CLIENT_LONG_FLAG | Flags::CLIENT_TRANSACTIONS
}

/// The flags that change what a command or a reply means; what a login alone is shaped by is left out, and the
/// reports that only decide what a client sees of Telamon's own.
pub fn of_commands(flags: Flags) -> Flags {
    flags & COMMAND_PHASE & !Flags::CLIENT_SESSION_TRACK
}

/// Whether a peer with these flags speaks a protocol that Telamon relays.
pub fn is_spoken(flags: Flags) -> bool {
    flags.contains(REQUIRED)
}

/// What a backend connection asks of its server on behalf of a client that negotiated `client`.
///
/// The client's own command-phase flags, so that its bytes pass unchanged; session tracking always, because the
/// session's state is learned from it. `None` where the server lacks a flag that changes the encoding and that the
/// client was promised.
pub fn asked_of_server(client: Flags, server: Flags) -> Option<Flags> {
    let wanted = client & COMMAND_PHASE & !Flags::CLIENT_SESSION_TRACK;
    // These change bytes on the wire; without one of them the replies would not be what the client expects.
    let encoding = Flags::CLIENT_DEPRECATE_EOF
        | Flags::CLIENT_PROTOCOL_41
        | Flags::CLIENT_MULTI_RESULTS
        | Flags::CLIENT_PS_MULTI_RESULTS;
    if !server.contains(wanted & encoding) {
        return None;
    }
    let phase = CONNECTION_PHASE & !(Flags::CLIENT_CONNECT_WITH_DB | Flags::CLIENT_SSL);
    let own = phase | Flags::CLIENT_SESSION_TRACK | REQUIRED;
    // CLIENT_LONG_PASSWORD tells MariaDB that no extended capabilities follow; it is not offered there but understood.
    Some((wanted & (server | Flags::CLIENT_LONG_PASSWORD)) | (own & server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_relay_does_not_understand_is_never_offered() {
        let offer = offered_to_client(Flags::all(), true);
        for flag in [
            Flags::CLIENT_COMPRESS,
            Flags::CLIENT_OPTIONAL_RESULTSET_METADATA,
            Flags::CLIENT_QUERY_ATTRIBUTES,
            Flags::CLIENT_ZSTD_COMPRESSION_ALGORITHM,
            Flags::CLIENT_PROGRESS_OBSOLETE,
            Flags::MULTI_FACTOR_AUTHENTICATION,
        ] {
            assert!(!offer.intersects(flag), "{flag:?}");
        }
        assert!(offer.contains(Flags::CLIENT_SSL));
    }

    #[test]
    fn a_backend_connection_has_the_clients_encoding_and_always_session_tracking() {
        let client = REQUIRED | Flags::CLIENT_FOUND_ROWS | Flags::CLIENT_DEPRECATE_EOF;
        let asked = asked_of_server(client, Flags::all()).expect("the server has all flags");
        assert!(asked.contains(Flags::CLIENT_FOUND_ROWS | Flags::CLIENT_DEPRECATE_EOF));
        assert!(asked.contains(Flags::CLIENT_SESSION_TRACK));
        assert!(!asked.contains(Flags::CLIENT_MULTI_STATEMENTS), "the client did not ask for it");
    }

    #[test]
    fn a_server_without_the_clients_encoding_is_refused() {
        let client = REQUIRED | Flags::CLIENT_DEPRECATE_EOF;
        assert_eq!(asked_of_server(client, Flags::all() & !Flags::CLIENT_DEPRECATE_EOF), None);
    }
}
