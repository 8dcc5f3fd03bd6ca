//! The errors that Telamon itself sends: MySQL's own numbers, SQLSTATEs and texts.
//!
//! "Server Error Message Reference" and "Client Error Message Reference" of the MySQL manual.

/// An ERR packet's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// MySQL's error number.
    pub code: u16,
    /// Five characters of SQLSTATE.
    pub sql_state: &'static str,
    /// The text the client shows.
    pub message: String,
}

/// The address part of an account's name in MySQL's messages.
fn using_password(given: bool) -> &'static str {
    if given { "YES" } else { "NO" }
}

impl ServerError {
    fn new(code: u16, sql_state: &'static str, message: String) -> Self {
        Self { code, sql_state, message }
    }

    /// ER_CON_COUNT_ERROR
    pub fn too_many_connections() -> Self {
        Self::new(1040, "08004", "Too many connections".into())
    }

    /// ER_QUERY_INTERRUPTED
    pub fn query_interrupted() -> Self {
        Self::new(1317, "70100", "Query execution was interrupted".into())
    }

    /// ER_CON_COUNT_ERROR: no connection to a server came back in time.
    pub fn no_connection_free(server: &str, wait_ms: u64) -> Self {
        Self::new(
            1040,
            "08004",
            format!(
                "Too many connections: none of those that pool.max_connections (or the server's own limit) allows \
                 to server {server} came back within pool.wait_ms = {wait_ms} ms"
            ),
        )
    }

    /// ER_UNKNOWN_ERROR: a question about a statement whose connection is another session's by now.
    pub fn previous_lost() -> Self {
        Self::telamon(
            "the connection that ran this session's previous statement had to be given to another session, and its \
             warnings and counts are gone with it; raise pool.max_connections, or set pool.mode = \"session\"",
        )
    }

    /// ER_HANDSHAKE_ERROR
    pub fn bad_handshake() -> Self {
        Self::new(1043, "08S01", "Bad handshake".into())
    }

    /// ER_ACCESS_DENIED_ERROR
    pub fn access_denied(user: &str, host: &str, password_given: bool) -> Self {
        let using = using_password(password_given);
        Self::new(
            1045,
            "28000",
            format!("Access denied for user '{user}'@'{host}' (using password: {using})"),
        )
    }

    /// ER_UNKNOWN_COM_ERROR
    pub fn unknown_command() -> Self {
        Self::new(1047, "08S01", "Unknown command".into())
    }

    /// ER_SERVER_SHUTDOWN
    pub fn shutdown() -> Self {
        Self::new(1053, "08S01", "Server shutdown in progress".into())
    }

    /// ER_NO_SUCH_THREAD
    pub fn no_such_thread(id: u64) -> Self {
        Self::new(1094, "HY000", format!("Unknown thread id: {id}"))
    }

    /// ER_KILL_DENIED_ERROR
    pub fn kill_denied(id: u64) -> Self {
        Self::new(1095, "HY000", format!("You are not owner of thread {id}"))
    }

    /// ER_UNKNOWN_ERROR, for what MySQL has no number for. The text must say what, why and the mend.
    pub fn telamon(message: impl Into<String>) -> Self {
        Self::new(1105, "HY000", message.into())
    }

    /// ER_HOST_NOT_PRIVILEGED
    pub fn host_not_privileged(host: &str, product: &str) -> Self {
        let text = format!("Host '{host}' is not allowed to connect to this {product} server");
        Self::new(1130, "HY000", text)
    }

    /// ER_NET_PACKETS_OUT_OF_ORDER
    pub fn packets_out_of_order() -> Self {
        Self::new(1156, "08S01", "Got packets out of order".into())
    }

    /// ER_NET_READ_INTERRUPTED: the client took too long.
    pub fn read_timeout() -> Self {
        Self::new(1159, "08S01", "Got timeout reading communication packets".into())
    }

    /// ER_NOT_SUPPORTED_YET
    pub fn not_relayed(what: &str, mend: &str) -> Self {
        Self::new(1235, "42000", format!("Telamon does not relay {what}; {mend}"))
    }

    /// ER_WRONG_ARGUMENTS
    pub fn wrong_arguments(command: &str) -> Self {
        Self::new(1210, "HY000", format!("Incorrect arguments to {command}"))
    }

    /// ER_MALFORMED_PACKET
    pub fn malformed_packet() -> Self {
        Self::new(1835, "HY000", "Malformed communication packet".into())
    }

    /// ER_SESSION_WAS_KILLED of MySQL, ER_CONNECTION_KILLED of MariaDB.
    pub fn session_killed(product: &str) -> Self {
        match product {
            "MariaDB" => Self::new(1927, "70100", "Connection was killed".into()),
            _ => Self::new(3169, "HY000", "Session was killed".into()),
        }
    }

    /// What a replica asks of its source.
    pub fn replication() -> Self {
        Self::not_relayed("the replication protocol", "let the replica connect to the server itself")
    }

    /// ER_NET_PACKET_TOO_LARGE, for a statement to be prepared whose text does not fit into one packet.
    pub fn statement_too_long() -> Self {
        let text = "Got a packet bigger than 16 MiB with a statement to prepare; Telamon keeps the text of prepared \
                    statements and takes none that long";
        Self::new(1153, "08S01", text.into())
    }

    /// A client that compresses although compression is not offered.
    pub fn compression() -> Self {
        Self::not_relayed("the compressed protocol", "connect without compression")
    }

    /// ER_UNKNOWN_ERROR, as servers answer an execute after too much long data.
    pub fn long_data_too_long() -> Self {
        let text = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
                    'limits.long_data_bytes' bytes";
        Self::telamon(text)
    }

    /// ER_STMT_HAS_NO_OPEN_CURSOR
    pub fn no_open_cursor(id: u32, product: &str) -> Self {
        let dot = if product == "MariaDB" { "" } else { "." };
        Self::new(1421, "HY000", format!("The statement ({id}) has no open cursor{dot}"))
    }

    /// ER_UNKNOWN_STMT_HANDLER
    pub fn unknown_statement(id: u32, command: &str) -> Self {
        Self::new(1243, "HY000", format!("Unknown prepared statement handler ({id}) given to {command}"))
    }

    /// ER_MAX_PREPARED_STMT_COUNT_REACHED
    pub fn too_many_statements(limit: usize) -> Self {
        let text =
            format!("Can't create more than max_prepared_stmt_count statements (current value: {limit})");
        Self::new(1461, "42000", text)
    }

    /// ER_SECURE_TRANSPORT_REQUIRED
    pub fn tls_required() -> Self {
        let text = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
        Self::new(3159, "HY000", text.into())
    }

    /// ER_CANT_EXECUTE_IN_READ_ONLY_MODE's family: no server takes writes now.
    pub fn no_primary(reason: &str) -> Self {
        let text = format!("The primary cannot be reached, so no statement that may write can run: {reason}");
        Self::new(1836, "HY000", text)
    }

    /// No replica may serve this read and the configuration forbids the primary.
    pub fn no_replica() -> Self {
        let text = "No replica is usable and routing.fallback is \"error\", so this read cannot run; \
                    set it to \"primary\" to let the primary serve reads meanwhile";
        Self::telamon(text)
    }

    /// CR_SERVER_LOST: the outcome of what was running is unknown. MariaDB's client library takes a client's error
    /// number in a packet for a malformed packet, so its clients get ER_CONNECTION_KILLED, which it understands.
    pub fn server_lost(server: &str, client_is_libmariadb: bool) -> Self {
        let text = format!("Lost connection to MySQL server '{server}' during query");
        if client_is_libmariadb { Self::new(1927, "70100", text) } else { Self::new(2013, "HY000", text) }
    }
}
