//! COM_STMT_EXECUTE's payload.

use telamon::protocol::wire::put_lenenc_bytes;

/// A parameter's value.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A BIGINT.
    Number(i64),
    /// A string.
    Text(&'a [u8]),
    /// A string that COM_STMT_SEND_LONG_DATA brought before.
    Long,
}

/// The payload that executes statement `id` with cursor `flags`; `with_types` as a client does the first time.
pub(super) fn execute(id: u32, flags: u8, values: &[Value<'_>], with_types: bool) -> Vec<u8> {
    let mut payload = vec![0x17];
    payload.extend_from_slice(&id.to_le_bytes());
    payload.push(flags);
    payload.extend_from_slice(&1u32.to_le_bytes());
    if values.is_empty() {
        return payload;
    }
    let mut nulls = vec![0u8; values.len().div_ceil(8)];
    for (index, _) in values.iter().enumerate().filter(|(_, value)| matches!(value, Value::Null)) {
        nulls[index / 8] |= 1 << (index % 8);
    }
    payload.extend_from_slice(&nulls);
    payload.push(u8::from(with_types));
    if with_types {
        for value in values {
            payload.extend_from_slice(match value {
                Value::Null => &[6, 0],
                Value::Number(_) => &[8, 0],
                Value::Text(_) | Value::Long => &[0xFC, 0],
            });
        }
    }
    for value in values {
        match value {
            Value::Null | Value::Long => {}
            Value::Number(number) => payload.extend_from_slice(&number.to_le_bytes()),
            Value::Text(text) => put_lenenc_bytes(&mut payload, text),
        }
    }
    payload
}
