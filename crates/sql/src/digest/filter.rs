//! Which events are digested.

use crate::log::Event;

/// What is compared, how, with what: `user=app`, `text~orders`, `Rows_examined>=1000`.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    what: Field,
    operator: Operator,
    text: String,
    number: f64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Field {
    User,
    Host,
    Database,
    Kind,
    Text,
    Attribute(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Contains,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

/// Longer ones first: `>=` starts with `>`.
const OPERATORS: [(&str, Operator); 7] = [
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::MoreOrEqual),
    ("=", Operator::Equal),
    ("~", Operator::Contains),
    ("<", Operator::Less),
    (">", Operator::More),
];

impl Filter {
    /// Reads a filter; the error says what is expected.
    pub fn read(expression: &str) -> Result<Self, String> {
        let (at, sign, operator) = expression
            .char_indices()
            .find_map(|(at, _)| {
                let rest = expression.get(at..)?;
                let (sign, operator) = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign))?;
                Some((at, *sign, *operator))
            })
            .ok_or_else(|| {
                format!(
                    "'{expression}': a comparison such as db=shop or Rows_examined>1000 expected"
                )
            })?;
        let name = expression.get(..at).unwrap_or_default().trim();
        let text = expression.get(at + sign.len()..).unwrap_or_default().trim();
        let what = match name.to_ascii_lowercase().as_str() {
            "" => return Err(format!("'{expression}': there is nothing before '{sign}'")),
            "user" => Field::User,
            "host" => Field::Host,
            "db" | "database" => Field::Database,
            "kind" => Field::Kind,
            "text" | "statement" => Field::Text,
            _ => Field::Attribute(name.to_owned()),
        };
        let compares = !matches!(
            operator,
            Operator::Equal | Operator::NotEqual | Operator::Contains
        );
        let number = text.parse::<f64>().unwrap_or(f64::NAN);
        match what {
            Field::Attribute(_) if operator != Operator::Contains && number.is_nan() => Err(
                format!("'{expression}': '{name}' is a number of the log, and '{text}' is none"),
            ),
            Field::User | Field::Host | Field::Database | Field::Kind | Field::Text if compares => {
                Err(format!(
                    "'{expression}': {name} can be compared with = != and ~ only"
                ))
            }
            _ => Ok(Self {
                what,
                operator,
                text: text.to_owned(),
                number,
            }),
        }
    }

    /// Whether it asks for the default database, which a part of a log may not know.
    pub fn asks_database(&self) -> bool {
        self.what == Field::Database
    }

    /// Whether it holds for an event. A number that the event does not have holds for nothing.
    pub fn holds(&self, event: &Event<'_>) -> bool {
        match &self.what {
            Field::User => self.text_holds(event.user.unwrap_or_default()),
            Field::Host => self.text_holds(event.host.unwrap_or_default()),
            Field::Database => self.text_holds(event.database.unwrap_or_default()),
            Field::Text => self.text_holds(event.statement),
            Field::Kind => self.text_holds(super::kind_of(event).as_bytes()),
            Field::Attribute(name) => {
                let found = event
                    .attributes
                    .iter()
                    .find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
                if let Some((_, value)) = found {
                    return self.value_holds(value);
                }
                let number = super::attributes::number_of(event, name);
                number.is_some_and(|text| self.value_holds(text.as_bytes()))
            }
        }
    }

    fn text_holds(&self, text: &[u8]) -> bool {
        let is_equal = || text.eq_ignore_ascii_case(self.text.as_bytes());
        match self.operator {
            Operator::NotEqual => !is_equal(),
            Operator::Contains => contains(text, self.text.as_bytes()),
            _ => is_equal(),
        }
    }

    fn value_holds(&self, value: &[u8]) -> bool {
        if self.operator == Operator::Contains {
            return contains(value, self.text.as_bytes());
        }
        let value = match value {
            b"Yes" => 1.0,
            b"No" => 0.0,
            _ => {
                let text = std::str::from_utf8(value).unwrap_or_default();
                let Ok(number) = text.parse::<f64>() else {
                    return false;
                };
                number
            }
        };
        match self.operator {
            Operator::Equal => value == self.number,
            Operator::NotEqual => value != self.number,
            Operator::Less => value < self.number,
            Operator::LessOrEqual => value <= self.number,
            Operator::More => value > self.number,
            Operator::MoreOrEqual => value >= self.number,
            Operator::Contains => false,
        }
    }
}

/// Case of ASCII letters ignored.
fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty()
        || text
            .windows(part.len())
            .any(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read() {
        let event = Event {
            user: Some(b"app"),
            statement: b"select * from Orders",
            ..Event::default()
        };
        for (expression, holds) in [
            ("user=app", true),
            ("user = APP", true),
            ("user!=app", false),
            ("text~orders", true),
            ("text~customers", false),
            ("kind=select", true),
            ("db=", true),
            ("db=shop", false),
            ("Rows_sent>0", false),
        ] {
            assert_eq!(
                Filter::read(expression).unwrap().holds(&event),
                holds,
                "{expression}"
            );
        }
        for expression in ["user", "=app", "Rows_sent>many", "user>5"] {
            assert!(Filter::read(expression).is_err(), "{expression}");
        }
    }
}
