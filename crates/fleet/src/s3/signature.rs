//! AWS Signature Version 4 of a request to a store of files ("Signature Calculations for the Authorization Header" in
//! the reference of Amazon S3's API).

use transport::hmac;

use crate::from_incident::hash_of_bytes;

/// A request as it is signed.
pub(super) struct Signed<'a> {
    pub(super) method: &'a str,
    /// Escaped; begins with a slash.
    pub(super) path: &'a str,
    /// Escaped, in order; without its question mark.
    pub(super) query: &'a str,
    /// Names in small letters and values, in the order of the names: all of them are signed.
    pub(super) headers: &'a [(&'a str, &'a str)],
    /// SHA-256 of the body, in hexadecimal.
    pub(super) body_sha256: &'a str,
    /// The moment, `YYYYMMDDTHHMMSSZ`.
    pub(super) moment: &'a str,
}

/// Who asks, and where the bucket is.
pub(super) struct Signer<'a> {
    pub(super) key_id: &'a str,
    pub(super) secret: &'a str,
    pub(super) region: &'a str,
}

impl Signer<'_> {
    /// The value of `Authorization`.
    pub(super) fn authorization(&self, request: &Signed<'_>) -> String {
        let names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let lines: String = request
            .headers
            .iter()
            .map(|(name, value)| format!("{name}:{}\n", value.trim()))
            .collect();
        let canonical = format!(
            "{}\n{}\n{}\n{lines}\n{names}\n{}",
            request.method, request.path, request.query, request.body_sha256
        );
        let day = request.moment.get(..8).unwrap_or_default();
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text = format!(
            "AWS4-HMAC-SHA256\n{}\n{scope}\n{}",
            request.moment,
            hash_of_bytes(canonical.as_bytes())
        );
        let mut key = hmac::code(format!("AWS4{}", self.secret).as_bytes(), day.as_bytes());
        for part in [self.region, "s3", "aws4_request"] {
            key = hmac::code(&key, part.as_bytes());
        }
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={}",
            self.key_id,
            hmac::hex(&key, text.as_bytes())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: (&str, &str) = ("host", "examplebucket.s3.amazonaws.com");
    const MOMENT: &str = "20130524T000000Z";

    /// Key, requests and signatures are those of the examples of that page.
    fn signature(request: &Signed<'_>) -> String {
        let signer = Signer {
            key_id: "AKIAIOSFODNN7EXAMPLE",
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            region: "us-east-1",
        };
        let line = signer.authorization(request);
        assert!(line.contains("/20130524/us-east-1/s3/aws4_request,"));
        line.rsplit('=').next().unwrap().to_owned()
    }

    #[test]
    fn a_file_is_put_as_in_the_reference() {
        let body = hash_of_bytes(b"Welcome to Amazon S3.");
        let request = Signed {
            method: "PUT",
            path: "/test%24file.text",
            query: "",
            headers: &[
                ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                HOST,
                ("x-amz-content-sha256", &body),
                ("x-amz-date", MOMENT),
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ],
            body_sha256: &body,
            moment: MOMENT,
        };
        assert_eq!(
            signature(&request),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        );
    }

    #[test]
    fn a_query_is_signed_as_in_the_reference() {
        let body = hash_of_bytes(b"");
        let request = Signed {
            method: "GET",
            path: "/",
            query: "lifecycle=",
            headers: &[
                HOST,
                ("x-amz-content-sha256", &body),
                ("x-amz-date", MOMENT),
            ],
            body_sha256: &body,
            moment: MOMENT,
        };
        assert_eq!(
            signature(&request),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        );
    }
}
