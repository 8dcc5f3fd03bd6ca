//! COM_*: the commands of the command phase, and the shape of the reply that each one has.

/// A command byte that Telamon knows. "Command Phase" of the MySQL source documentation lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// COM_QUIT
    Quit,
    /// COM_INIT_DB
    InitDb,
    /// COM_QUERY
    Query,
    /// COM_FIELD_LIST
    FieldList,
    /// COM_REFRESH, which MySQL 8.4 no longer knows
    Refresh,
    /// COM_SHUTDOWN, likewise
    Shutdown,
    /// COM_PROCESS_INFO, likewise
    ProcessInfo,
    /// COM_STATISTICS
    Statistics,
    /// COM_PROCESS_KILL
    ProcessKill,
    /// COM_DEBUG
    Debug,
    /// COM_PING
    Ping,
    /// COM_CHANGE_USER
    ChangeUser,
    /// COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID, COM_TABLE_DUMP, COM_REGISTER_SLAVE: what a replica asks of its source
    Replication,
    /// COM_STMT_PREPARE
    StmtPrepare,
    /// COM_STMT_EXECUTE
    StmtExecute,
    /// COM_STMT_SEND_LONG_DATA
    StmtSendLongData,
    /// COM_STMT_CLOSE
    StmtClose,
    /// COM_STMT_RESET
    StmtReset,
    /// COM_SET_OPTION
    SetOption,
    /// COM_STMT_FETCH
    StmtFetch,
    /// COM_RESET_CONNECTION
    ResetConnection,
    /// Anything else: answered as a server answers it, with error 1047.
    Unknown(u8),
}

impl From<u8> for Command {
    fn from(byte: u8) -> Self {
        match byte {
            0x01 => Self::Quit,
            0x02 => Self::InitDb,
            0x03 => Self::Query,
            0x04 => Self::FieldList,
            0x07 => Self::Refresh,
            0x08 => Self::Shutdown,
            0x09 => Self::Statistics,
            0x0A => Self::ProcessInfo,
            0x0C => Self::ProcessKill,
            0x0D => Self::Debug,
            0x0E => Self::Ping,
            0x11 => Self::ChangeUser,
            0x12 | 0x13 | 0x15 | 0x1E => Self::Replication,
            0x16 => Self::StmtPrepare,
            0x17 => Self::StmtExecute,
            0x18 => Self::StmtSendLongData,
            0x19 => Self::StmtClose,
            0x1A => Self::StmtReset,
            0x1B => Self::SetOption,
            0x1C => Self::StmtFetch,
            0x1F => Self::ResetConnection,
            other => Self::Unknown(other),
        }
    }
}

/// The shapes a reply can have; [`super::reply::ReplyState`] walks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyShape {
    /// No reply at all.
    Nothing,
    /// One packet, whatever it is: OK, ERR, EOF, or COM_STATISTICS' bare text.
    One,
    /// OK, ERR, a request for a local file, or one or more result sets.
    Results,
    /// The same, but a result set may end behind its definitions because its rows wait in a cursor.
    ResultsOrCursor,
    /// COM_STMT_PREPARE's head with its parameter and column definitions.
    Prepared,
    /// Column definitions up to an EOF.
    Fields,
    /// Rows up to an EOF, without column definitions.
    Rows,
}

impl Command {
    /// The shape of this command's reply.
    pub fn reply_shape(self) -> ReplyShape {
        match self {
            Self::Quit | Self::StmtSendLongData | Self::StmtClose => ReplyShape::Nothing,
            Self::Query | Self::StmtExecute | Self::ProcessInfo => ReplyShape::Results,
            Self::StmtPrepare => ReplyShape::Prepared,
            Self::FieldList => ReplyShape::Fields,
            Self::StmtFetch => ReplyShape::Rows,
            _ => ReplyShape::One,
        }
    }
}
