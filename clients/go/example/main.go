// Everything that README.md shows, as one program; clients/go/run_tests runs it.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	counter "counter/clients/go"
)

func main() {
	// snippet: first
	ctx := context.Background()
	likes, err := counter.Connect(os.Getenv("COUNTER_SERVER"), counter.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer likes.Close()

	post := counter.Item{Type: "post", ID: 456}
	liked, err := likes.Like(ctx, 123, post)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("likes:", liked.Count)
	// snippet end

	// snippet: batch
	written, err := likes.WriteLikes(ctx, []counter.Mutation{
		{UserID: 1, Item: post, Action: counter.ActionLike},
		{UserID: 123, Item: post, Action: counter.ActionUnlike},
		{UserID: 0, Item: post, Action: counter.ActionLike}, // There is no user 0.
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, result := range written.Results {
		var refused *counter.Error
		if errors.As(result.Err, &refused) {
			fmt.Println("refused:", refused.Kind)
		} else {
			fmt.Println("now", result.Count)
		}
	}
	// snippet end

	// snippet: reads
	count, err := likes.Count(ctx, post, counter.Strong())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("post 456:", count.Count)

	items := []counter.Item{post, {Type: "reel", ID: 7}}
	counts, err := likes.Counts(ctx, items)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("reel 7:", counts.Counts[1].Count)

	has, err := likes.HasLiked(ctx, 1, items)
	if err != nil {
		log.Fatal(err)
	}
	for i, yes := range has.Liked {
		if yes {
			fmt.Println("user 1 likes", items[i].Type, items[i].ID)
		}
	}
	// snippet end

	// snippet: lists
	page, err := likes.ListLikes(ctx, 1, counter.Page{Size: 10})
	if err != nil {
		log.Fatal(err)
	}
	for _, like := range page.Likes {
		fmt.Println("liked:", like.Item.Type, like.Item.ID)
	}

	// page.NextPageToken gets the next page; AllLikes gets all of them, each when it is needed:
	number := 0
	all := likes.AllLikes(1, counter.Page{Types: []string{"post"}})
	for all.Next(ctx) {
		number++
	}
	if err := all.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("in all:", number)
	// snippet end

	// snippet: errors
	_, err = likes.Like(ctx, 0, counter.Item{Type: "nothing", ID: 7})
	var failed *counter.Error
	if errors.As(err, &failed) {
		switch {
		case failed.Kind == counter.InvalidArgument:
			for _, violation := range failed.Violations {
				fmt.Println("wrong:", violation.Field)
			}
		case failed.RetryAfter != nil: // RateLimited, Overloaded.
			time.Sleep(*failed.RetryAfter) // Then once more.
		default:
			fmt.Println(err) // What happened, and the request id to report it by.
		}
	}
	// snippet end

	// snippet: options
	soon, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	count, err = likes.Count(soon, post, counter.WithRequestID("feed-42"),
		counter.WithTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("request:", count.RequestID)
	// snippet end

	readYourWrites(ctx)
	secure()

	// snippet: watch
	watch, err := likes.WatchCounts(ctx, []counter.Item{post})
	if err != nil {
		log.Fatal(err)
	}
	defer watch.Stop()
	update, err := watch.Next() // The counts of now; then, each time, those that have changed.
	if err != nil {
		log.Fatal(err)
	}
	for _, count := range update.Counts {
		fmt.Println("watched:", count.Item.Type, count.Item.ID, count.Count)
	}
	// snippet end
}

func readYourWrites(ctx context.Context) {
	// snippet: mine
	mine, err := counter.Connect(os.Getenv("COUNTER_SERVER"), counter.Options{ReadYourWrites: true})
	if err != nil {
		log.Fatal(err)
	}
	defer mine.Close()

	reel := counter.Item{Type: "reel", ID: 7}
	if _, err := mine.Like(ctx, 7, reel); err != nil {
		log.Fatal(err)
	}
	count, err := mine.Count(ctx, reel)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("reel 7:", count.Count)
	// snippet end
}

func secure() {
	// snippet: secure
	ca, err := os.ReadFile("ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	pair, err := tls.LoadX509KeyPair("client.pem", "client.key")
	if err != nil {
		log.Fatal(err)
	}
	secure, err := counter.Connect("dns:///counter.example:443", counter.Options{
		TLS:         &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		BearerToken: "secret",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer secure.Close()
	// snippet end
}
