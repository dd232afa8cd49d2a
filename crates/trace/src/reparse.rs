//! Puts a trace together from records that come out of a file, checking every one of them:
//! an event may refer only to what was named before it.

use crate::event::{
    Access, Action, Event, Location, LockName, LockStep, Mark, Message, ObjectId, ObjectName,
    Order, SiteIndex, ThreadId, ThreadName, Trace, TraceSite, TypeIndex,
};
use crate::form::{self, FORMS, FieldType, Record, Value};

/// A trace in the making.
#[derive(Default)]
pub struct Builder {
    trace: Trace,
}

impl Builder {
    /// Adds a record. True if it was the last one.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for people.
    pub fn add(&mut self, record: Record<'_>) -> Result<bool, String> {
        let (form, values) = record;
        let shape = FORMS
            .get(form)
            .ok_or_else(|| format!("there is no record {form}"))?;
        if values.len() != shape.fields.len() {
            return Err(format!("`{}` has another number of fields", shape.keyword));
        }
        let mut fields = Fields {
            form,
            values: values.into_iter(),
            next: 0,
        };
        match form {
            form::END => return Ok(true),
            form::BUILD => self.trace.build = fields.text()?,
            form::TEST => self.trace.test = fields.text()?,
            form::NAMED_THREAD => {
                let thread = self.named_thread(&mut fields)?;
                self.trace.threads.push(thread);
            }
            form::HEAP | form::STATIC | form::REGION | form::STACK | form::VARIABLE => {
                let object = self.object(form, &mut fields)?;
                self.trace.objects.push(object);
            }
            form::NAMED_TYPE => self.trace.types.push(fields.text()?),
            form::NAMED_LOCK => {
                let lock = LockName {
                    location: self.location(&mut fields)?,
                    type_index: self.type_index(fields.number()?)?,
                    path: fields.text()?,
                };
                self.trace.locks.push(lock);
            }
            form::NAMED_SITE => self.trace.sites.push(TraceSite {
                key: fields.number()?,
                file: fields.text()?,
                function: fields.text()?,
                line: fields.number()?,
                column: fields.number()?,
            }),
            _ => {
                let event = self.event(form, &mut fields)?;
                self.trace.events.push(event);
            }
        }
        Ok(false)
    }

    /// The trace, after the last record.
    pub fn finish(self) -> Trace {
        self.trace
    }

    fn named_thread(&self, fields: &mut Fields<'_>) -> Result<ThreadName, String> {
        if self.trace.threads.len() > usize::from(u16::MAX) {
            return Err("there are too many threads".into());
        }
        let parent: u64 = fields.number()?;
        let parent = match parent.checked_sub(1) {
            Some(parent) => Some(self.thread(parent)?),
            None => None,
        };
        Ok(ThreadName {
            parent,
            site_key: fields.number()?,
            occurrence: fields.number()?,
        })
    }

    fn object(&self, form: usize, fields: &mut Fields<'_>) -> Result<ObjectName, String> {
        if form == form::STATIC {
            return Ok(ObjectName::Static {
                path: fields.text()?,
            });
        }
        if matches!(form, form::STACK | form::VARIABLE) {
            let variable = match form {
                form::VARIABLE => fields.text()?,
                _ => String::new(),
            };
            return Ok(ObjectName::Stack {
                variable,
                function: fields.text()?,
                context: fields.number()?,
                thread: self.thread(fields.number()?)?,
                occurrence: fields.number()?,
            });
        }
        let site_key = fields.number()?;
        let thread = self.thread(fields.number()?)?;
        let occurrence = fields.number()?;
        Ok(match form {
            form::HEAP => ObjectName::Heap {
                site_key,
                thread,
                occurrence,
                size: fields.number()?,
                context: fields.number()?,
                function: fields.text()?,
            },
            _ => ObjectName::Region {
                site_key,
                thread,
                occurrence,
            },
        })
    }

    fn event(&self, form: usize, fields: &mut Fields<'_>) -> Result<Event, String> {
        let thread = self.thread(fields.number()?)?;
        let action = self.action(form, fields)?;
        let site: u64 = fields.number()?;
        let site = match site.checked_sub(1) {
            None => None,
            Some(index) if index < self.trace.sites.len() as u64 => Some(SiteIndex(index as u32)),
            Some(_) => return Err(format!("there is no site {site}")),
        };
        Ok(Event {
            thread,
            site,
            action,
        })
    }

    fn action(&self, form: usize, fields: &mut Fields<'_>) -> Result<Action, String> {
        Ok(match form {
            form::ACCESS => Action::Access {
                access: fields.word(Access::ALL)?,
                location: self.location(fields)?,
                size: fields.number()?,
                value: fields.number()?,
                order: fields.word(Order::ALL)?,
            },
            form::VALUE => Action::Value {
                location: self.location(fields)?,
                size: fields.number()?,
                value: fields.number()?,
            },
            form::FENCE => Action::Fence {
                order: fields.word(Order::ALL)?,
            },
            form::LOCK => Action::Lock {
                step: fields.word(LockStep::ALL)?,
                lock: self.location(fields)?,
                shared: fields.word(&[false, true])?,
            },
            form::SEND_START | form::SEND_END | form::SEND_WAKE | form::SEND_ITEM => {
                Action::Send(self.message(form, fields)?)
            }
            form::RECEIVE_START | form::RECEIVE_END | form::RECEIVE_WAKE | form::RECEIVE_ITEM => {
                Action::Receive(self.message(form, fields)?)
            }
            form::WAIT => Action::Wait(self.location(fields)?),
            form::ALLOC => Action::Alloc {
                object: self.object_id(fields.number()?)?,
            },
            form::FREE => Action::Free {
                location: self.location(fields)?,
            },
            form::ENTER => Action::Enter {
                receiver: self.receiver(fields)?,
            },
            form::LEAVE | form::UNWIND => Action::Leave {
                unwound: form == form::UNWIND,
            },
            form::TYPED => Action::Typed {
                location: self.location(fields)?,
                type_index: self.type_index(fields.number()?)?,
            },
            form::POINTS => Action::Points {
                location: self.location(fields)?,
                target: self.location(fields)?,
            },
            form::BRANCH => Action::Branch {
                way: fields.number()?,
            },
            form::MARK => Action::Mark(fields.word(Mark::ALL)?),
            _ => return Err(format!("there is no event {form}")),
        })
    }

    fn message(&self, form: usize, fields: &mut Fields<'_>) -> Result<Message, String> {
        Ok(match form {
            form::SEND_START | form::RECEIVE_START => {
                Message::Start(self.thread(fields.number()?)?)
            }
            form::SEND_END | form::RECEIVE_END => Message::End(self.thread(fields.number()?)?),
            form::SEND_WAKE | form::RECEIVE_WAKE => Message::Wake(self.location(fields)?),
            _ => Message::Item {
                channel: self.location(fields)?,
                number: fields.number()?,
            },
        })
    }

    fn receiver(&self, fields: &mut Fields<'_>) -> Result<Option<Location>, String> {
        let object: u64 = fields.number()?;
        let offset = fields.number()?;
        match object.checked_sub(1) {
            Some(object) => Ok(Some(Location {
                object: self.object_id(object)?,
                offset,
            })),
            None if offset == 0 => Ok(None),
            None => Err("an offset needs a receiver".into()),
        }
    }

    fn location(&self, fields: &mut Fields<'_>) -> Result<Location, String> {
        Ok(Location {
            object: self.object_id(fields.number()?)?,
            offset: fields.number()?,
        })
    }

    fn thread(&self, index: u64) -> Result<ThreadId, String> {
        if index < self.trace.threads.len() as u64 {
            Ok(ThreadId(index as u16))
        } else {
            Err(format!("there is no thread {index}"))
        }
    }

    fn type_index(&self, index: u64) -> Result<TypeIndex, String> {
        if index < self.trace.types.len() as u64 {
            Ok(TypeIndex(index as u32))
        } else {
            Err(format!("there is no type {index}"))
        }
    }

    fn object_id(&self, index: u64) -> Result<ObjectId, String> {
        if index < self.trace.objects.len() as u64 {
            Ok(ObjectId(index as u32))
        } else {
            Err(format!("there is no object {index}"))
        }
    }
}

/// The values of a record still to be read.
struct Fields<'a> {
    form: usize,
    values: std::vec::IntoIter<Value<'a>>,
    next: usize,
}

impl<'a> Fields<'a> {
    fn value(&mut self) -> Result<(Value<'a>, &'static str, FieldType), String> {
        let (name, field_type) = FORMS[self.form].fields.get(self.next).copied().unzip();
        self.next += 1;
        match (self.values.next(), name, field_type) {
            (Some(value), Some(name), Some(field_type)) => Ok((value, name, field_type)),
            _ => Err("a field is missing".into()),
        }
    }

    fn number<T: TryFrom<u64>>(&mut self) -> Result<T, String> {
        match self.value()? {
            (Value::Number(number), name, _) => {
                T::try_from(number).map_err(|_| format!("`{name}` is too large"))
            }
            (Value::Text(_), name, _) => Err(format!("`{name}` is not a number")),
        }
    }

    fn text(&mut self) -> Result<String, String> {
        match self.value()? {
            (Value::Text(text), _, _) => Ok(text.into_owned()),
            (Value::Number(_), name, _) => Err(format!("`{name}` is not a text")),
        }
    }

    fn word<T: Copy>(&mut self, all: &[T]) -> Result<T, String> {
        let (value, name, _) = self.value()?;
        let known = match value {
            Value::Number(index) => usize::try_from(index).ok().and_then(|index| all.get(index)),
            Value::Text(_) => None,
        };
        known
            .copied()
            .ok_or_else(|| format!("the value of `{name}` is not known"))
    }
}
