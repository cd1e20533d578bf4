//! The form encoding of a delivery: `payload=<percent-encoded JSON>`.

use bytes::BytesMut;

/// What is wrong with a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormFault {
    /// There is no `payload` field, or more than one.
    NoPayload,
    /// The decoded payload is over the limit.
    TooLarge,
}

/// Takes the decoded `payload` field out of a form body.
///
/// Decodes in place, since decoding never grows: a form of 75 MiB needs no second
/// buffer. As browsers do, a `%` without two hexadecimal digits stands for itself.
pub(super) fn payload(mut form: BytesMut, limit: usize) -> Result<BytesMut, FormFault> {
    const KEY: &[u8] = b"payload=";
    let mut fields = Vec::new();
    let mut start = 0;
    for field in form[..].split(|byte| *byte == b'&') {
        let end = start + field.len();
        if field.starts_with(KEY) {
            fields.push(start + KEY.len()..end);
            if fields.len() > 1 {
                break;
            }
        }
        start = end + 1;
    }
    let [field] = fields.as_slice() else {
        return Err(FormFault::NoPayload);
    };
    form.truncate(field.end);
    let mut value = form.split_off(field.start);
    let length = decode_in_place(&mut value);
    if length > limit {
        return Err(FormFault::TooLarge);
    }
    value.truncate(length);
    Ok(value)
}

fn decode_in_place(bytes: &mut [u8]) -> usize {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|n| u8::try_from(n).ok());
    let (mut read, mut write) = (0, 0);
    while let Some(&byte) = bytes.get(read) {
        let pair = (bytes.get(read + 1), bytes.get(read + 2));
        let (decoded, width) = match (byte, pair) {
            (b'+', _) => (b' ', 1),
            (b'%', (Some(&high), Some(&low))) => match (digit(high), digit(low)) {
                (Some(high), Some(low)) => ((high << 4) | low, 3),
                _ => (byte, 1),
            },
            _ => (byte, 1),
        };
        bytes[write] = decoded;
        read += width;
        write += 1;
    }
    write
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(form: &str) -> Result<String, FormFault> {
        payload(BytesMut::from(form), 24).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn one_payload_field_is_decoded_and_anything_else_refused() {
        for (form, expected) in [
            ("payload=%7B%7D", Ok("{}")),
            ("payload=", Ok("")),
            ("a=1&payload=x+y%2By&b=2", Ok("x y+y")),
            ("payload=%c3%a9%C3%A9", Ok("éé")),
            ("payload=100%&", Ok("100%")),
            ("payload=%4", Ok("%4")),
            ("payload=%zz%41", Ok("%zzA")),
            ("payload=%%34%31", Ok("%41")),
            ("payload=a=b", Ok("a=b")),
            ("", Err(FormFault::NoPayload)),
            ("payload", Err(FormFault::NoPayload)),
            ("Payload=x", Err(FormFault::NoPayload)),
            ("xpayload=x", Err(FormFault::NoPayload)),
            ("payload=a&payload=b", Err(FormFault::NoPayload)),
            ("payload=aaaaaaaaaaaaaaaaaaaaaaaa", Ok("aaaaaaaaaaaaaaaaaaaaaaaa")),
            (
                "payload=%61aaaaaaaaaaaaaaaaaaaaaaa",
                Ok("aaaaaaaaaaaaaaaaaaaaaaaa"),
            ),
            ("payload=aaaaaaaaaaaaaaaaaaaaaaaaa", Err(FormFault::TooLarge)),
        ] {
            assert_eq!(decoded(form), expected.map(str::to_owned), "{form:?}");
        }
    }
}
