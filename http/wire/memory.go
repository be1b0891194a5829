package wire

import "unsafe"

// responseRoom is a Response followed directly by the memory for its bytes.
type responseRoom[Space any] struct {
	PollResponse
	byteSpace Space
}

func newRoom[Space any]() *PollResponse {
	r := new(responseRoom[Space])
	r.text = unsafe.Slice((*byte)(unsafe.Pointer(&r.byteSpace)), unsafe.Sizeof(r.byteSpace))[:0]
	return &r.PollResponse
}

// roomOverhead is what a room needs in addition to its bytes: the Response, and one word of the
// allocator.
const roomOverhead = 72

// roomSizes have the size classes of the Go allocator.
var roomSizes = []struct {
	bytes int
	make  func() *PollResponse
}{
	{512 - roomOverhead, newRoom[[512 - roomOverhead]byte]}, {1024 - roomOverhead, newRoom[[1024 - roomOverhead]byte]},
	{1536 - roomOverhead, newRoom[[1536 - roomOverhead]byte]}, {2048 - roomOverhead, newRoom[[2048 - roomOverhead]byte]},
	{2688 - roomOverhead, newRoom[[2688 - roomOverhead]byte]}, {3072 - roomOverhead, newRoom[[3072 - roomOverhead]byte]},
	{3456 - roomOverhead, newRoom[[3456 - roomOverhead]byte]}, {4096 - roomOverhead, newRoom[[4096 - roomOverhead]byte]},
	{4864 - roomOverhead, newRoom[[4864 - roomOverhead]byte]}, {6144 - roomOverhead, newRoom[[6144 - roomOverhead]byte]},
	{8192 - roomOverhead, newRoom[[8192 - roomOverhead]byte]}, {12288 - roomOverhead, newRoom[[12288 - roomOverhead]byte]},
	{16384 - roomOverhead, newRoom[[16384 - roomOverhead]byte]}, {24576 - roomOverhead, newRoom[[24576 - roomOverhead]byte]},
}

// roomFor makes an empty Response with capacity for so many bytes. Bytes beyond the largest room
// are allocated separately.
func roomFor(bytes int) *PollResponse {
	for _, size := range roomSizes {
		if bytes <= size.bytes {
			return size.make()
		}
	}
	return &PollResponse{text: make([]byte, 0, bytes)}
}
