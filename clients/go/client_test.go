package counter

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestServiceConfigSaysWhatTheDocumentationSays(t *testing.T) {
	var config struct {
		LoadBalancingConfig []map[string]any
		MethodConfig        []struct {
			Name         []map[string]string
			WaitForReady bool
			RetryPolicy  map[string]any
		}
	}
	if err := json.Unmarshal([]byte(ServiceConfig), &config); err != nil {
		t.Fatal(err)
	}
	method := config.MethodConfig[0]
	wanted := map[string]any{"maxAttempts": 4.0, "initialBackoff": "0.05s", "maxBackoff": "1s", "backoffMultiplier": 2.0,
		"retryableStatusCodes": []any{"UNAVAILABLE"}}
	if method.Name[0]["service"] != "counter.v1.CounterService" || !method.WaitForReady ||
		!reflect.DeepEqual(method.RetryPolicy, wanted) || config.LoadBalancingConfig[0]["round_robin"] == nil {
		t.Errorf("got %+v", config)
	}
}

func TestServiceConfigHasNoRetriesWhereTheyAreTurnedOff(t *testing.T) {
	config, err := serviceConfig(false)
	if err != nil || strings.Contains(config, "retryPolicy") || strings.Contains(config, "waitForReady") {
		t.Errorf("got %s, %v", config, err)
	}
}

func TestTokensOfTheItemsWrittenLongestAgoMakeRoom(t *testing.T) {
	kept := newTokens(2)
	post := func(id int64) Item { return Item{"post", id} }
	kept.keep(post(1), "a")
	kept.keep(post(2), "b")
	kept.keep(post(1), "c")
	kept.keep(post(3), "d")
	got := kept.of([]Item{post(3), post(1), post(2), post(3)})
	if !reflect.DeepEqual(got, []string{"d", "c"}) {
		t.Errorf("got %v", got)
	}
}

func TestTheCallersOwnTokensWin(t *testing.T) {
	client := &Client{tokens: newTokens(1)}
	client.tokens.keep(Item{"post", 1}, "kept")
	if got := client.read(nil, Item{"post", 1}).tokens; !reflect.DeepEqual(got, []string{"kept"}) {
		t.Errorf("got %v", got)
	}
	if got := client.read([]CallOption{WithTokens("mine")}, Item{"post", 1}).tokens; !reflect.DeepEqual(got, []string{"mine"}) {
		t.Errorf("got %v", got)
	}
}

func TestATokenWithoutTLSIsRefused(t *testing.T) {
	if _, err := Connect("127.0.0.1:1", Options{BearerToken: "secret"}); err == nil {
		t.Error("expected an error")
	}
}

func TestErrorsAreOfTheirKind(t *testing.T) {
	after := 2500 * time.Millisecond
	var err error = &Error{Kind: RateLimited, Code: 8, Message: "100 a minute", RetryAfter: &after, RequestID: "r-1"}
	if !errors.Is(err, RateLimited) || errors.Is(err, Overloaded) {
		t.Error("expected RateLimited, and nothing else")
	}
	if got := err.Error(); got != "counter: RateLimited: 100 a minute; retry after 2.5s (request r-1)" {
		t.Error(got)
	}
}

func TestManyGoroutinesShareAClient(t *testing.T) {
	client, err := Connect("127.0.0.1:1", Options{NoRetries: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var group sync.WaitGroup
	for i := 0; i < 20; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if _, err := client.Like(context.Background(), 1, Item{"post", 1}); !errors.Is(err, Unavailable) {
				t.Errorf("nobody listens: got %v", err)
			}
		}()
	}
	group.Wait()
}
