// The adapter of clients/conformance/run: makes one call for each line of its input.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	counter "counter/clients/go"
)

type object map[string]any

// Of the watch's deadline.
var endWatch context.CancelFunc = func() {}

type request struct {
	Call            string
	Target          string
	Retries         *bool
	DeadlineMs      int64  `json:"deadline_ms"`
	UserAgent       string `json:"user_agent"`
	BearerToken     string `json:"bearer_token"`
	ReadYourWrites  bool   `json:"read_your_writes"`
	CaFile          string `json:"ca_file"`
	CertificateFile string `json:"certificate_file"`
	KeyFile         string `json:"key_file"`
	User, Item      string
	Items           []string
	Mutations       []struct{ User, Item, Action string }
	Consistency     string
	Tokens          []string
	RequestID       string `json:"request_id"`
	Traceparent     string
	ItemTypes       []string `json:"item_types"`
	PageSize        int32    `json:"page_size"`
	PageToken       string   `json:"page_token"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	answers := json.NewEncoder(os.Stdout)
	var client *counter.Client
	var watch *counter.Watch
	for lines.Scan() {
		var asked request
		must(json.Unmarshal(lines.Bytes(), &asked))
		if asked.Call == "connect" {
			if client != nil {
				must(client.Close())
			}
			client = connect(asked)
			must(answers.Encode(object{"reply": object{}}))
			continue
		}
		var reply object
		var err error
		switch asked.Call {
		case "watch":
			watch = begin(client, asked)
			reply, err = next(watch)
		case "next_update":
			reply, err = next(watch)
		case "stop_watch":
			watch.Stop()
			endWatch()
			reply = object{}
		default:
			reply, err = call(client, asked)
		}
		if err != nil {
			must(answers.Encode(object{"error": failure(err)}))
		} else {
			must(answers.Encode(object{"reply": reply}))
		}
	}
	must(lines.Err())
}

func connect(asked request) *counter.Client {
	options := counter.Options{Deadline: time.Duration(asked.DeadlineMs) * time.Millisecond, UserAgent: asked.UserAgent,
		BearerToken: asked.BearerToken, ReadYourWrites: asked.ReadYourWrites,
		NoRetries: asked.Retries != nil && !*asked.Retries}
	if asked.CaFile != "" {
		ca, err := os.ReadFile(asked.CaFile)
		must(err)
		options.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		options.TLS.RootCAs.AppendCertsFromPEM(ca)
	}
	if asked.CertificateFile != "" {
		pair, err := tls.LoadX509KeyPair(asked.CertificateFile, asked.KeyFile)
		must(err)
		options.TLS.Certificates = []tls.Certificate{pair}
	}
	client, err := counter.Connect(asked.Target, options)
	must(err)
	return client
}

func call(client *counter.Client, asked request) (object, error) {
	ctx := context.Background()
	if asked.DeadlineMs != 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(asked.DeadlineMs)*time.Millisecond)
		defer cancel()
		ctx = limited
	}
	options := []counter.CallOption{counter.WithRequestID(asked.RequestID), counter.WithTraceparent(asked.Traceparent),
		counter.WithTokens(asked.Tokens...)}
	if asked.Consistency == "STRONG" {
		options = append(options, counter.Strong())
	}
	switch asked.Call {
	case "like", "unlike":
		method := client.Like
		if asked.Call == "unlike" {
			method = client.Unlike
		}
		reply, err := method(ctx, number(asked.User), item(asked.Item), options...)
		if err != nil {
			return nil, err
		}
		return with(written(*reply), reply.RequestID), nil
	case "write_likes":
		var mutations []counter.Mutation
		for _, m := range asked.Mutations {
			action := map[string]counter.Action{"LIKE": counter.ActionLike, "UNLIKE": counter.ActionUnlike}[m.Action]
			mutations = append(mutations, counter.Mutation{UserID: number(m.User), Item: item(m.Item), Action: action})
		}
		reply, err := client.WriteLikes(ctx, mutations, options...)
		if err != nil {
			return nil, err
		}
		results := []object{}
		for _, result := range reply.Results {
			if result.Err != nil {
				results = append(results, object{"error": failure(result.Err)})
			} else {
				results = append(results, written(result.Written))
			}
		}
		return with(object{"results": results}, reply.RequestID), nil
	case "list_likes", "list_likers", "all_likes", "all_likers":
		return list(ctx, client, asked, options)
	case "count":
		reply, err := client.Count(ctx, item(asked.Item), options...)
		if err != nil {
			return nil, err
		}
		return with(count(*reply), reply.RequestID), nil
	case "counts":
		reply, err := client.Counts(ctx, items(asked.Items), options...)
		if err != nil {
			return nil, err
		}
		counts := []object{}
		for _, one := range reply.Counts {
			counts = append(counts, count(one))
		}
		return with(object{"counts": counts}, reply.RequestID), nil
	default:
		reply, err := client.HasLiked(ctx, number(asked.User), items(asked.Items), options...)
		if err != nil {
			return nil, err
		}
		return object{"liked": append([]bool{}, reply.Liked...), "source": reply.Source.String(),
			"as_of_ms": reply.AsOf.UnixMilli(), "request_id": reply.RequestID}, nil
	}
}

func begin(client *counter.Client, asked request) *counter.Watch {
	ctx := context.Background()
	if asked.DeadlineMs != 0 {
		ctx, endWatch = context.WithTimeout(ctx, time.Duration(asked.DeadlineMs)*time.Millisecond)
	}
	watch, err := client.WatchCounts(ctx, items(asked.Items), counter.WithTokens(asked.Tokens...))
	must(err)
	return watch
}

func next(watch *counter.Watch) (object, error) {
	update, err := watch.Next()
	if err != nil {
		return nil, err
	}
	counts := []object{}
	for _, one := range update.Counts {
		counts = append(counts, count(one))
	}
	sort.Slice(counts, func(i, j int) bool { return counts[i]["item"].(string) < counts[j]["item"].(string) })
	return object{"counts": counts, "snapshot": update.Snapshot}, nil
}

func list(ctx context.Context, client *counter.Client, asked request, options []counter.CallOption) (object, error) {
	page := counter.Page{Size: asked.PageSize, Token: asked.PageToken, Types: asked.ItemTypes}
	listed := []object{}
	like := func(l counter.Like) {
		listed = append(listed, object{"item": fmt.Sprintf("%s:%d", l.Item.Type, l.Item.ID), "liked_at_ms": l.LikedAt.UnixMilli()})
	}
	liker := func(l counter.Liker) {
		listed = append(listed, object{"user": fmt.Sprint(l.UserID), "liked_at_ms": l.LikedAt.UnixMilli()})
	}
	switch asked.Call {
	case "list_likes":
		reply, err := client.ListLikes(ctx, number(asked.User), page, options...)
		if err != nil {
			return nil, err
		}
		for _, one := range reply.Likes {
			like(one)
		}
		return object{"page": listed, "next_page_token": reply.NextPageToken, "request_id": reply.RequestID}, nil
	case "list_likers":
		reply, err := client.ListLikers(ctx, item(asked.Item), page, options...)
		if err != nil {
			return nil, err
		}
		for _, one := range reply.Likers {
			liker(one)
		}
		return object{"page": listed, "next_page_token": reply.NextPageToken, "request_id": reply.RequestID}, nil
	case "all_likes":
		all := client.AllLikes(number(asked.User), page, options...)
		for all.Next(ctx) {
			like(all.Value())
		}
		return object{"all": listed}, all.Err()
	default:
		all := client.AllLikers(item(asked.Item), page, options...)
		for all.Next(ctx) {
			liker(all.Value())
		}
		return object{"all": listed}, all.Err()
	}
}

func with(reply object, requestID string) object {
	reply["request_id"] = requestID
	return reply
}

func written(w counter.Written) object {
	return object{"changed": w.Changed, "count": fmt.Sprint(w.Count), "consistency_token": w.ConsistencyToken}
}

func count(c counter.Count) object {
	return object{"item": fmt.Sprintf("%s:%d", c.Item.Type, c.Item.ID), "count": fmt.Sprint(c.Count),
		"source": c.Source.String(), "as_of_ms": c.AsOf.UnixMilli(), "consistency_token": c.ConsistencyToken}
}

func failure(err error) object {
	var e *counter.Error
	if !errors.As(err, &e) || !errors.Is(err, e.Kind) {
		return object{"kind": "not an *Error of its own kind", "message": err.Error()}
	}
	violations := []object{}
	for _, v := range e.Violations {
		violations = append(violations, object{"field": v.Field, "description": v.Description})
	}
	out := object{"kind": e.Kind, "code": e.Code, "reason": e.Reason, "message": e.Message, "violations": violations,
		"quota": nil, "retry_after_ms": nil, "not_applied": e.NotApplied, "request_id": e.RequestID}
	if e.Quota != nil {
		out["quota"] = object{"subject": e.Quota.Subject, "description": e.Quota.Description}
	}
	if e.RetryAfter != nil {
		out["retry_after_ms"] = e.RetryAfter.Milliseconds()
	}
	return out
}

func item(text string) counter.Item {
	kind, id, _ := strings.Cut(text, ":")
	return counter.Item{Type: kind, ID: number(id)}
}

func items(texts []string) []counter.Item {
	var all []counter.Item
	for _, text := range texts {
		all = append(all, item(text))
	}
	return all
}

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "adapter:", err)
		os.Exit(1)
	}
}
