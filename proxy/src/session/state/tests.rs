use super::*;

const AUTOCOMMIT: StatusFlags = StatusFlags::SERVER_STATUS_AUTOCOMMIT;
const OPEN: StatusFlags = AUTOCOMMIT.union(StatusFlags::SERVER_STATUS_IN_TRANS);

fn fresh() -> SessionState {
    SessionState::new(AUTOCOMMIT, Some(b"app".to_vec()), Dialect::from_server_version("10.11.19-MariaDB"))
}

/// A reply with these status flags and this report.
fn reply(status: StatusFlags, track: &[u8]) -> Observation {
    Observation { status: Some(status), track: track.to_vec(), ..Observation::default() }
}

fn after(effects: Effects, track: &[u8]) -> SessionState {
    let mut state = fresh();
    state.observe(Slot::Primary, effects, None, &reply(AUTOCOMMIT, track));
    state
}

#[test]
fn the_status_flags_open_and_close_a_transaction_whatever_the_text_was() {
    let mut state = fresh();
    assert_eq!(state.held(), None);
    state.observe(Slot::Primary, Effects::NONE, None, &reply(OPEN, b""));
    assert_eq!(state.held(), Some(PinReason::Transaction));
    // A fetch from a replica's cursor, meanwhile.
    state.observe(Slot::Replica, Effects::NONE, None, &reply(AUTOCOMMIT, b""));
    assert_eq!(state.held(), Some(PinReason::Transaction));
    state.observe(Slot::Primary, Effects::NONE, None, &reply(AUTOCOMMIT, b""));
    assert_eq!(state.held(), None);
}

#[test]
fn an_error_leaves_an_open_transaction_where_it_is() {
    let mut state = fresh();
    state.observe(Slot::Primary, Effects::BEGINS_TRANSACTION, None, &reply(OPEN, b""));
    let error = Observation { error: Some(1062), ..Observation::default() };
    state.observe(Slot::Primary, Effects::NONE, None, &error);
    assert_eq!(state.held(), Some(PinReason::Transaction));
}

#[test]
fn without_autocommit_everything_is_held_on_the_primary() {
    let mut state = fresh();
    state.observe(Slot::Primary, Effects::AUTOCOMMIT_OFF, None, &reply(StatusFlags::empty(), b""));
    assert_eq!(state.held(), Some(PinReason::AutocommitOff));
}

#[test]
fn a_reported_variable_is_state_and_holds_nothing() {
    let state = after(Effects::SETS_SESSION_VARIABLES, b"\x00\x0a\x08sql_mode\x00\x02\x011");
    assert_eq!(state.held(), None);
    assert_eq!(state.settings.variables.keys().map(AsRef::as_ref).collect::<Vec<_>>(), ["sql_mode"]);
}

#[test]
fn a_variable_that_was_set_and_not_reported_holds_the_primary() {
    // MariaDB 10.11 reports nothing for SET @@sql_mode = '', without a scope word.
    let state = after(Effects::SETS_SESSION_VARIABLES, b"");
    assert_eq!(state.held(), Some(PinReason::UnknownState));
}

#[test]
fn a_character_set_brings_a_collation_that_has_to_be_asked_for() {
    let mut state =
        after(Effects::SETS_SESSION_VARIABLES, b"\x00\x21\x18character_set_connection\x07utf8mb4\x02\x011");
    assert_eq!(state.unreported, ["collation_connection"]);
    state.answered("collation_connection", b"utf8mb4_bin");
    assert!(state.unreported.is_empty());
    assert_eq!(*state.settings.variables["collation_connection"], *b"utf8mb4_bin");
}

#[test]
fn a_time_that_was_set_cannot_be_brought_elsewhere() {
    let state = after(Effects::SETS_SESSION_VARIABLES, b"\x00\x13\x09timestamp\x085.000000");
    assert_eq!(state.held(), Some(PinReason::UnknownState));
}

#[test]
fn what_a_server_reports_behind_a_plain_read_is_not_the_sessions_doing() {
    // MySQL 9.7 reports statement_id behind every result set that ends in an OK packet.
    let track = b"\x00\x11\x0cstatement_id\x032536";
    assert!(after(Effects::NONE, &track[..17]).settings.variables.is_empty());
    let mut state = fresh();
    let seen = reply(AUTOCOMMIT, b"\x00\x10\x0cwait_timeout\x0277");
    state.observe(Slot::Replica, Effects::NONE, None, &seen);
    assert!(state.settings.variables.is_empty());
}

#[test]
fn the_report_of_a_dropped_schema_leaves_the_session_without_one() {
    let state = after(Effects::NONE, b"\x01\x01\x00");
    assert_eq!(state.schema(), None);
}

#[test]
fn one_shot_characteristics_hold_the_primary_until_the_server_says_they_are_used() {
    let mut state = after(Effects::SETS_NEXT_TRANSACTION, b"\x04\x1b\x1aSET TRANSACTION READ ONLY;");
    assert_eq!(state.held(), Some(PinReason::NextTransaction));
    state.observe(Slot::Primary, Effects::NONE, None, &reply(AUTOCOMMIT, b"\x04\x01\x00"));
    assert_eq!(state.held(), None);
}

#[test]
fn locked_tables_are_held_until_they_are_unlocked() {
    let mut state = after(Effects::LOCKS_TABLES, b"\x05\x09\x08_______L");
    assert_eq!(state.held(), Some(PinReason::LockedTables));
    state.observe(Slot::Primary, Effects::UNLOCKS_TABLES, None, &reply(AUTOCOMMIT, b"\x05\x09\x08________"));
    assert_eq!(state.held(), None);
}

#[test]
fn what_hidden_code_changed_on_mysql_holds_the_primary_and_plain_text_does_not() {
    let mysql = |effects, seen: &Observation| {
        let mut state = SessionState::new(AUTOCOMMIT, None, Dialect::from_server_version("9.7.4"));
        state.observe(Slot::Primary, effects, None, seen);
        state.held()
    };
    let report = reply(AUTOCOMMIT, b"\x02\x011");
    assert_eq!(mysql(Effects::MAY_CALL_UNKNOWN, &report), Some(PinReason::UnknownState));
    let hidden = Observation { hidden_change: true, ..reply(AUTOCOMMIT, b"") };
    assert_eq!(
        mysql(Effects::MAY_CALL_UNKNOWN, &hidden),
        Some(PinReason::UnknownState),
        "an EOF packet said it"
    );
    assert_eq!(mysql(Effects::SETS_USER_VARIABLES, &report), None);
    assert_eq!(mysql(Effects::MAY_CALL_UNKNOWN, &reply(AUTOCOMMIT, b"")), None, "it changed nothing");
}

#[test]
fn temporary_tables_of_hidden_code_are_counted_on_mariadb() {
    let mut state = after(Effects::MAY_CALL_UNKNOWN, b"");
    assert!(state.must_count_temporary_tables, "it need not have reported any");
    state.counted_temporary_tables(b"0", 0);
    assert_eq!(state.held(), None);
    state.counted_temporary_tables(b"1", 0);
    assert_eq!(state.held(), Some(PinReason::TemporaryTable));
}

#[test]
fn a_reset_forgets_all_but_the_schema_and_the_last_write() {
    let mut state = after(Effects::CREATES_TEMPORARY_TABLE, b"\x00\x10\x09last_gtid\x050-1-7");
    assert_eq!(state.held(), Some(PinReason::TemporaryTable));
    state.reset(AUTOCOMMIT);
    assert_eq!((state.held(), state.schema()), (None, Some(&b"app"[..])));
    assert!(state.settings.variables.is_empty());
    assert_eq!(state.last_write.as_deref().map(Gtid::text), Some(&b"0-1-7"[..]));
}

#[test]
fn a_lost_primary_connection_ends_a_session_that_had_user_variables() {
    let state = after(Effects::SETS_USER_VARIABLES, b"");
    assert!(!state.survives_loss_of(Slot::Primary));
    assert!(state.survives_loss_of(Slot::Replica));
    assert!(fresh().survives_loss_of(Slot::Primary));
}
