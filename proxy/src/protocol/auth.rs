//! Authentication plugins: what a password becomes on the wire.
//!
//! Telamon knows the passwords of its accounts, so a client's answer is checked by making the same answer and
//! comparing. "Authentication Methods" of the MySQL source documentation.

use super::handshake::NONCE_LEN;
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use mysql_common::scramble::{scramble_native, scramble_sha256};

/// The authentication plugins Telamon speaks, on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    /// mysql_native_password
    Native,
    /// caching_sha2_password
    CachingSha2,
}

impl Plugin {
    /// The plugin of this name, if Telamon speaks it.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Native, Self::CachingSha2].into_iter().find(|p| p.name().as_bytes() == name)
    }

    /// The plugin's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
        }
    }

    /// What a client that knows `password` sends; empty for an empty password.
    pub fn scramble(self, nonce: &[u8], password: &[u8]) -> Vec<u8> {
        let scrambled = match self {
            Self::Native => scramble_native(nonce, password).map(|s| s.to_vec()),
            Self::CachingSha2 => scramble_sha256(nonce, password).map(|s| s.to_vec()),
        };
        scrambled.unwrap_or_default()
    }

    /// Whether `answer` proves knowledge of `password`. Takes the same time wherever they differ.
    pub fn accepts(self, nonce: &[u8], password: &[u8], answer: &[u8]) -> bool {
        let answer = if answer == [0] { &[] } else { answer }; // one NUL: an empty password after an auth switch
        is_same(&self.scramble(nonce, password), answer)
    }
}

/// Compares without telling by its time how much is equal.
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

/// caching_sha2_password: the server knows the hash and is content.
pub const FAST_AUTH_OK: [u8; 2] = [1, 3];
/// caching_sha2_password: the server needs the password itself.
pub const FULL_AUTH: [u8; 2] = [1, 4];
/// caching_sha2_password: the client asks for the server's public key.
pub const PUBLIC_KEY_REQUEST: [u8; 1] = [2];

/// Random printable bytes for a greeting; none is NUL, and none is `$`, which old clients stumble over.
///
/// # Errors
/// The system has no random numbers.
pub fn nonce() -> Result<[u8; NONCE_LEN], AuthError> {
    let mut bytes = [0; NONCE_LEN];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| AuthError::Random)?;
    for byte in &mut bytes {
        *byte &= 0x7F;
        if matches!(*byte, 0 | b'$') {
            *byte += 1;
        }
    }
    Ok(bytes)
}

/// What can fail around keys and random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
    /// No RSA key pair could be made.
    #[error("no RSA key pair could be made")]
    KeyPair,
    /// The server's public key is not an RSA key in PEM form.
    #[error("the server's public key is not an RSA key in PEM form")]
    PublicKey,
    /// The password does not fit into the server's RSA key.
    #[error("the password is longer than the server's RSA key can carry")]
    TooLong,
}

/// The key pair by which clients without TLS may send their password.
#[derive(Debug)]
pub struct RsaKey {
    private: OaepPrivateDecryptingKey,
    public_pem: Vec<u8>,
}

impl RsaKey {
    /// Makes a new key pair of 2048 bits.
    ///
    /// # Errors
    /// [`AuthError::KeyPair`]
    pub fn generate() -> Result<Self, AuthError> {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).map_err(|_| AuthError::KeyPair)?;
        let der: PublicKeyX509Der<'_> = key.public_key().as_der().map_err(|_| AuthError::KeyPair)?;
        let pem = pem::Pem::new("PUBLIC KEY", der.as_ref());
        let lines = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
        let private = OaepPrivateDecryptingKey::new(key).map_err(|_| AuthError::KeyPair)?;
        Ok(Self { private, public_pem: pem::encode_config(&pem, lines).into_bytes() })
    }

    /// The public key as it goes to clients.
    pub fn public_pem(&self) -> &[u8] {
        &self.public_pem
    }

    /// The password that a client encrypted; `None` when it did not use this key.
    pub fn decrypt(&self, nonce: &[u8], ciphertext: &[u8]) -> Option<Vec<u8>> {
        let mut room = vec![0; self.private.min_output_size()];
        let plain = self.private.decrypt(&OAEP_SHA1_MGF1SHA1, ciphertext, &mut room, None).ok()?;
        let mut password = masked(plain, nonce);
        (password.pop() == Some(0)).then_some(password)
    }
}

/// Encrypts a password, ended by NUL and masked by the nonce, with a server's public key.
///
/// # Errors
/// [`AuthError::PublicKey`], [`AuthError::TooLong`]
pub fn encrypt_password(public_pem: &[u8], nonce: &[u8], password: &[u8]) -> Result<Vec<u8>, AuthError> {
    let pem = pem::parse(public_pem).map_err(|_| AuthError::PublicKey)?;
    let key = PublicEncryptingKey::from_der(pem.contents()).map_err(|_| AuthError::PublicKey)?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| AuthError::PublicKey)?;
    let plain = masked(&[password, &[0]].concat(), nonce);
    let mut room = vec![0; key.ciphertext_size()];
    let sealed = key.encrypt(&OAEP_SHA1_MGF1SHA1, &plain, &mut room, None).map_err(|_| AuthError::TooLong)?;
    Ok(sealed.to_vec())
}

fn masked(text: &[u8], nonce: &[u8]) -> Vec<u8> {
    text.iter().zip(nonce.iter().cycle()).map(|(t, n)| t ^ n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_password_is_accepted_and_any_other_is_not() {
        let nonce = nonce().expect("random numbers");
        for plugin in [Plugin::Native, Plugin::CachingSha2] {
            let answer = plugin.scramble(&nonce, b"secret");
            assert!(plugin.accepts(&nonce, b"secret", &answer));
            assert!(!plugin.accepts(&nonce, b"secreT", &answer));
            assert!(!plugin.accepts(&nonce, b"secret", b""), "no answer is not the password");
            assert!(plugin.accepts(&nonce, b"", b"") && plugin.accepts(&nonce, b"", &[0]));
            assert!(
                !plugin.accepts(&nonce, b"", &answer),
                "an account without password needs an empty answer"
            );
        }
    }

    #[test]
    fn a_password_survives_the_rsa_exchange_and_a_foreign_ciphertext_is_refused() {
        let key = RsaKey::generate().expect("a key");
        let nonce = nonce().expect("random numbers");
        let sealed = encrypt_password(key.public_pem(), &nonce, "pässwörd, longer than the nonce".as_bytes());
        let sealed = sealed.expect("it fits");
        let opened = key.decrypt(&nonce, &sealed).expect("the same key");
        assert_eq!(opened, "pässwörd, longer than the nonce".as_bytes());
        assert_eq!(key.decrypt(&nonce, &[0; 256]), None);
        assert_eq!(key.decrypt(&nonce, b""), None);
        assert_eq!(encrypt_password(b"no key", &nonce, b"x"), Err(AuthError::PublicKey));
        assert_eq!(encrypt_password(key.public_pem(), &nonce, &[b'x'; 300]), Err(AuthError::TooLong));
    }

    #[test]
    fn a_nonce_has_no_byte_that_clients_take_for_its_end() {
        for _ in 0..200 {
            let nonce = nonce().expect("random numbers");
            assert!(nonce.iter().all(|b| (1..0x80).contains(b) && *b != b'$'));
        }
    }
}
