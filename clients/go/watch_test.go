package counter

import (
	"context"
	"errors"
	"net"
	"reflect"
	"sort"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "counter/clients/go/counterpb"
)

type watched struct {
	pb.UnimplementedCounterServiceServer
	requests chan *pb.WatchCountsRequest
	watch    func(pb.CounterService_WatchCountsServer) error
}

func (w *watched) WatchCounts(request *pb.WatchCountsRequest, stream pb.CounterService_WatchCountsServer) error {
	w.requests <- request
	return w.watch(stream)
}

func watching(t *testing.T, options Options, watch func(pb.CounterService_WatchCountsServer) error) (*Client, *watched) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	service := &watched{requests: make(chan *pb.WatchCountsRequest, 10), watch: watch}
	server := grpc.NewServer()
	pb.RegisterCounterServiceServer(server, service)
	go func() { _ = server.Serve(listener) }()
	client, err := Connect(listener.Addr().String(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		server.Stop()
	})
	return client, service
}

func message(snapshot bool, id, count int64, token string) *pb.WatchCountsResponse {
	return &pb.WatchCountsResponse{Snapshot: snapshot, Counts: []*pb.ItemCount{
		{Item: &pb.Item{ItemType: "post", ItemId: id}, Count: count, ConsistencyToken: token}}}
}

func TestAWatchTellsWhatComesAndWhyItEnded(t *testing.T) {
	client, service := watching(t, Options{NoRetries: true}, func(stream pb.CounterService_WatchCountsServer) error {
		_ = stream.Send(message(true, 1, 5, "a"))
		_ = stream.Send(message(false, 1, 6, "b"))
		return status.Error(codes.Unavailable, "going")
	})
	watch, err := client.WatchCounts(context.Background(), []Item{{"post", 1}}, WithTokens("known"))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for i, wanted := range []struct {
		count    int64
		token    string
		snapshot bool
	}{{5, "a", true}, {6, "b", false}} {
		update, err := watch.Next()
		if err != nil {
			t.Fatal(err)
		}
		got := update.Counts[0]
		if got.Item != (Item{"post", 1}) || got.Count != wanted.count || got.ConsistencyToken != wanted.token ||
			update.Snapshot != wanted.snapshot {
			t.Errorf("message %d: got %+v", i, update)
		}
	}
	_, err = watch.Next()
	var failed *Error
	if !errors.As(err, &failed) || failed.Kind != Unavailable {
		t.Errorf("got %v", err)
	}
	if request := <-service.requests; !reflect.DeepEqual(request.ConsistencyTokens, []string{"known"}) {
		t.Errorf("got %v", request)
	}
}

func TestAWatchOutlivesTheClientsDeadlineAndEndsWhenItIsStopped(t *testing.T) {
	client, _ := watching(t, Options{NoRetries: true}, func(stream pb.CounterService_WatchCountsServer) error {
		_ = stream.Send(message(true, 1, 5, "a"))
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	client.deadline = time.Millisecond
	watch, err := client.WatchCounts(context.Background(), []Item{{"post", 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Next(); err != nil {
		t.Fatal(err)
	}
	go watch.Stop()
	_, err = watch.Next()
	var failed *Error
	if !errors.As(err, &failed) || failed.Kind != Cancelled {
		t.Errorf("got %v", err)
	}
}

// A server that gives the n-th watch what is said of it, and ends it so.
func endings(streams ...func(pb.CounterService_WatchCountsServer) error) func(pb.CounterService_WatchCountsServer) error {
	next := int32(-1)
	return func(stream pb.CounterService_WatchCountsServer) error {
		return streams[atomic.AddInt32(&next, 1)](stream)
	}
}

func TestAWatchGoesOnFromWhatItHasTold(t *testing.T) {
	client, service := watching(t, Options{}, endings(
		func(stream pb.CounterService_WatchCountsServer) error {
			_ = stream.Send(&pb.WatchCountsResponse{Snapshot: true, Counts: append(message(true, 1, 5, "a").Counts,
				message(true, 2, 1, "z").Counts...)})
			_ = stream.Send(message(false, 1, 6, "b"))
			return status.Error(codes.Unavailable, "going")
		},
		func(stream pb.CounterService_WatchCountsServer) error {
			_ = stream.Send(&pb.WatchCountsResponse{Snapshot: true})
			return nil
		},
		func(stream pb.CounterService_WatchCountsServer) error {
			_ = stream.Send(message(true, 1, 7, "c"))
			return status.Error(codes.Unavailable, "going")
		},
		func(stream pb.CounterService_WatchCountsServer) error {
			return status.Error(codes.InvalidArgument, "enough")
		}))
	watch, err := client.WatchCounts(context.Background(), []Item{{"post", 1}, {"post", 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for i, wanted := range []struct {
		count    int64
		snapshot bool
	}{{5, true}, {6, false}, {7, false}} {
		update, err := watch.Next()
		if err != nil {
			t.Fatal(err)
		}
		if update.Counts[0].Count != wanted.count || update.Snapshot != wanted.snapshot {
			t.Errorf("update %d: got %+v", i, update)
		}
	}
	for i := 0; i < 2; i++ {
		if _, err := watch.Next(); !errors.Is(err, InvalidArgument) {
			t.Errorf("got %v", err)
		}
	}
	for i, wanted := range [][]string{nil, {"b", "z"}, {"b", "z"}, {"c", "z"}} {
		known := (<-service.requests).ConsistencyTokens
		sort.Strings(known)
		if !reflect.DeepEqual(known, wanted) {
			t.Errorf("request %d: got %v", i, known)
		}
	}
}

func TestAWatchOfAnotherHistoryBeginsAnew(t *testing.T) {
	other := func(pb.CounterService_WatchCountsServer) error {
		return status.Error(codes.OutOfRange, "another history")
	}
	client, service := watching(t, Options{}, endings(
		other,
		func(stream pb.CounterService_WatchCountsServer) error {
			_ = stream.Send(message(true, 1, 5, "a"))
			return other(stream)
		},
		func(stream pb.CounterService_WatchCountsServer) error {
			_ = stream.Send(message(true, 1, 3, "b"))
			return nil
		},
		other,
		other))
	watch, err := client.WatchCounts(context.Background(), []Item{{"post", 1}}, WithTokens("known"))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for _, wanted := range []int64{5, 3} {
		update, err := watch.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !update.Snapshot || update.Counts[0].Count != wanted {
			t.Errorf("got %+v", update)
		}
	}
	// Without a token there is no other history.
	if _, err := watch.Next(); !errors.Is(err, OutOfRange) {
		t.Errorf("got %v", err)
	}
	for i, wanted := range [][]string{{"known"}, nil, nil, {"b"}, nil} {
		if known := (<-service.requests).ConsistencyTokens; !reflect.DeepEqual(known, wanted) {
			t.Errorf("request %d: got %v", i, known)
		}
	}
}

func TestAWatchThatNeverStoodEndsWithItsError(t *testing.T) {
	client, service := watching(t, Options{}, func(pb.CounterService_WatchCountsServer) error {
		return status.Error(codes.ResourceExhausted, "full")
	})
	watch, err := client.WatchCounts(context.Background(), []Item{{"post", 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if _, err := watch.Next(); !errors.Is(err, ResourceExhausted) {
		t.Errorf("got %v", err)
	}
	if len(service.requests) != 1 {
		t.Errorf("got %d requests", len(service.requests))
	}
}
