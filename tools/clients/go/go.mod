// What tools/generate_clients makes the Go code with; go.sum holds the checksums.
module counter/tools/clients/go

go 1.19

require (
	google.golang.org/grpc/cmd/protoc-gen-go-grpc v1.3.0
	google.golang.org/protobuf v1.31.0
)
