//! Makes the calls that clients/conformance/run asks for, one a line.

use std::io::BufRead;
use std::time::{Duration, SystemTime};

use counter_client::{
    Action, CallOptions, Client, Consistency, Count, Error, Item, Like, Liker, Mutation, Options, Page, ReadOptions,
    Source, Tls, Update, Watch, WatchOptions, Written,
};
use serde_json::{json, Value};

#[tokio::main]
async fn main() {
    let mut client = None;
    let mut watch = None;
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let answer = if asked["call"] == "connect" {
            client = Some(connect(&asked).expect("options that can be"));
            json!({"reply": {}})
        } else if asked["call"] == "stop_watch" {
            watch = None;
            json!({"reply": {}})
        } else if asked["call"] == "watch" || asked["call"] == "next_update" {
            if asked["call"] == "watch" {
                watch = Some(begin(client.as_ref().expect("connect comes first"), &asked));
            }
            match watch.as_mut().expect("watch comes first").next().await {
                Ok(update) => json!({"reply": updated(update)}),
                Err(error) => json!({"error": failure(&error)}),
            }
        } else {
            match call(client.as_ref().expect("connect comes first"), &asked).await {
                Ok(reply) => json!({ "reply": reply }),
                Err(error) => json!({"error": failure(&error)}),
            }
        };
        println!("{}", answer);
    }
}

fn begin(client: &Client, asked: &Value) -> Watch {
    let items: Vec<Item> = list(&asked["items"]).iter().map(item).collect();
    let options = WatchOptions {
        consistency_tokens: list(&asked["tokens"]).iter().map(text).collect(),
        call: CallOptions { deadline: deadline(asked), ..Default::default() },
    };
    client.watch_counts(&items, &options).expect("options that can be")
}

fn updated(mut update: Update) -> Value {
    update.counts.sort_by_key(|count| format!("{}:{}", count.item.kind, count.item.id));
    json!({"counts": update.counts.iter().map(count).collect::<Vec<Value>>(), "snapshot": update.snapshot})
}

fn connect(asked: &Value) -> Result<Client, Error> {
    let mut options = Options::default();
    if let Some(deadline) = deadline(asked) {
        options.deadline = deadline;
    }
    options.retries = asked["retries"].as_bool().unwrap_or(true);
    options.read_your_writes = asked["read_your_writes"].as_bool().unwrap_or(false);
    options.user_agent = text(&asked["user_agent"]);
    options.bearer_token = asked["bearer_token"].as_str().map(str::to_owned);
    if asked["ca_file"].is_string() {
        let read = |name| asked[name].as_str().map(|path| std::fs::read(path).expect("a file"));
        options.tls = Some(Tls { ca: read("ca_file"), certificate: read("certificate_file"), key: read("key_file") });
    }
    Client::connect(&text(&asked["target"]), options)
}

async fn call(client: &Client, asked: &Value) -> Result<Value, Error> {
    let options = CallOptions {
        deadline: deadline(asked),
        request_id: text(&asked["request_id"]),
        traceparent: text(&asked["traceparent"]),
    };
    let read = ReadOptions {
        consistency: if asked["consistency"] == "STRONG" { Consistency::Strong } else { Consistency::Cached },
        consistency_tokens: list(&asked["tokens"]).iter().map(text).collect(),
        call: options.clone(),
    };
    let items: Vec<Item> = list(&asked["items"]).iter().map(item).collect();
    Ok(match asked["call"].as_str().unwrap_or("") {
        "like" => written(&client.like_with(number(&asked["user"]), &item(&asked["item"]), &options).await?),
        "unlike" => written(&client.unlike_with(number(&asked["user"]), &item(&asked["item"]), &options).await?),
        "write_likes" => {
            let mutation = |m: &Value| Mutation {
                user_id: number(&m["user"]),
                item: item(&m["item"]),
                action: if m["action"] == "LIKE" { Action::Like } else { Action::Unlike },
            };
            let mutations: Vec<Mutation> = list(&asked["mutations"]).iter().map(mutation).collect();
            let reply = client.write_likes(&mutations, &options).await?;
            let encode = |result: &Result<Written, Error>| match result {
                Ok(value) => written(value),
                Err(error) => json!({"error": failure(error)}),
            };
            let results: Vec<Value> = reply.results.iter().map(encode).collect();
            json!({"results": results, "request_id": reply.request_id})
        }
        "count" => count(&client.count(&item(&asked["item"]), &read).await?),
        "counts" => {
            let reply = client.counts(&items, &read).await?;
            let counts: Vec<Value> = reply.counts.iter().map(count).collect();
            json!({"counts": counts, "request_id": reply.request_id})
        }
        "list_likes" => {
            let reply = client.list_likes(number(&asked["user"]), &page(asked, options)).await?;
            let likes: Vec<Value> = reply.likes.iter().map(like).collect();
            json!({"page": likes, "next_page_token": reply.next_page_token, "request_id": reply.request_id})
        }
        "list_likers" => {
            let reply = client.list_likers(&item(&asked["item"]), &page(asked, options)).await?;
            let likers: Vec<Value> = reply.likers.iter().map(liker).collect();
            json!({"page": likers, "next_page_token": reply.next_page_token, "request_id": reply.request_id})
        }
        "all_likes" => {
            let mut all = client.all_likes(number(&asked["user"]), page(asked, options));
            let mut likes = Vec::new();
            while let Some(one) = all.next().await? {
                likes.push(like(&one));
            }
            json!({ "all": likes })
        }
        "all_likers" => {
            let mut all = client.all_likers(&item(&asked["item"]), page(asked, options));
            let mut likers = Vec::new();
            while let Some(one) = all.next().await? {
                likers.push(liker(&one));
            }
            json!({ "all": likers })
        }
        _ => {
            let reply = client.has_liked(number(&asked["user"]), &items, &read).await?;
            json!({"liked": reply.liked, "source": source(reply.source), "as_of_ms": millis(reply.as_of),
                   "request_id": reply.request_id})
        }
    })
}

fn page(asked: &Value, call: CallOptions) -> Page {
    Page {
        size: asked["page_size"].as_i64().unwrap_or(0) as i32,
        token: text(&asked["page_token"]),
        item_types: list(&asked["item_types"]).iter().map(text).collect(),
        call,
    }
}

fn like(like: &Like) -> Value {
    json!({"item": format!("{}:{}", like.item.kind, like.item.id), "liked_at_ms": millis(like.liked_at)})
}

fn liker(liker: &Liker) -> Value {
    json!({"user": liker.user_id.to_string(), "liked_at_ms": millis(liker.liked_at)})
}

fn written(written: &Written) -> Value {
    json!({"changed": written.changed, "count": written.count.to_string(),
           "consistency_token": written.consistency_token, "request_id": written.request_id})
}

fn count(count: &Count) -> Value {
    json!({"item": format!("{}:{}", count.item.kind, count.item.id), "count": count.count.to_string(),
           "source": source(count.source), "as_of_ms": millis(count.as_of),
           "consistency_token": count.consistency_token, "request_id": count.request_id})
}

fn failure(error: &Error) -> Value {
    let violation = |v: &counter_client::FieldViolation| json!({"field": v.field, "description": v.description});
    let violations: Vec<Value> = error.violations.iter().map(violation).collect();
    let quota = error.quota.as_ref().map(|q| json!({"subject": q.subject, "description": q.description}));
    let after = error.retry_after.map(|after| after.as_millis() as u64);
    json!({"kind": error.kind.to_string(), "code": error.code, "reason": error.reason, "message": error.message,
           "violations": violations, "quota": quota, "retry_after_ms": after, "not_applied": error.not_applied,
           "request_id": error.request_id})
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Unknown => "UNKNOWN",
        Source::Cache => "CACHE",
        Source::Replica => "REPLICA",
        Source::Primary => "PRIMARY",
    }
}

fn millis(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map(|since| since.as_millis() as u64).unwrap_or(0)
}

fn deadline(asked: &Value) -> Option<Duration> {
    asked["deadline_ms"].as_u64().map(Duration::from_millis)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or(&[])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("").into()
}

fn number(value: &Value) -> i64 {
    text(value).parse().expect("an id")
}

fn item(value: &Value) -> Item {
    let text = text(value);
    let (kind, id) = text.split_once(':').expect("TYPE:ID");
    Item::new(kind, id.parse().expect("an id"))
}
