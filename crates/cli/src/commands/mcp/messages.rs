//! Messages of JSON-RPC 2.0.

use serde_json::{Value, json};

/// A request, or a notification if it has no number.
#[derive(Debug)]
pub struct Request {
    pub id: Option<Value>,
    pub method: String,
    pub params: Value,
}

#[derive(Clone, Copy, Debug)]
pub enum FaultCode {
    Parse,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
}

impl FaultCode {
    const fn number(self) -> i32 {
        match self {
            Self::Parse => -32_700,
            Self::InvalidRequest => -32_600,
            Self::MethodNotFound => -32_601,
            Self::InvalidParams => -32_602,
        }
    }
}

/// An answer that says what is wrong with a request.
pub fn fault(id: &Value, code: FaultCode, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code.number(), "message": text } })
}

impl Request {
    /// Reads a line; if it is no request, the answer to it.
    pub fn parse(line: &str) -> Result<Self, Value> {
        let mut message: Value = serde_json::from_str(line).map_err(|error| {
            fault(&Value::Null, FaultCode::Parse, &format!("not JSON: {error}"))
        })?;
        let id = message.get("id").cloned();
        match message.get("method").and_then(Value::as_str) {
            Some(method) => {
                let method = method.to_owned();
                let params = message.get_mut("params").map(Value::take).unwrap_or_default();
                Ok(Self { id, method, params })
            }
            None => {
                let id = id.unwrap_or_default();
                Err(fault(&id, FaultCode::InvalidRequest, "a request has a method"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_notifications_are_told_apart() {
        let request = Request::parse(r#"{"id": 7, "method": "ping"}"#).unwrap();
        assert_eq!((request.id, request.method.as_str()), (Some(json!(7)), "ping"));
        assert_eq!(Request::parse(r#"{"method": "notifications/initialized"}"#).unwrap().id, None);
    }

    #[test]
    fn what_is_no_request_is_answered() {
        assert_eq!(Request::parse("{").unwrap_err()["error"]["code"], -32_700);
        assert_eq!(Request::parse("[1]").unwrap_err()["error"]["code"], -32_600);
        let answer = Request::parse(r#"{"id": "x"}"#).unwrap_err();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("x"), &json!(-32_600)));
    }
}
