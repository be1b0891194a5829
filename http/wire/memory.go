package wire

import "unsafe"

// room is a Response followed directly by the memory for its bytes.
type room[Space any] struct {
	Response
	space Space
}

func newRoom[Space any]() *Response {
	r := new(room[Space])
	r.text = unsafe.Slice((*byte)(unsafe.Pointer(&r.space)), unsafe.Sizeof(r.space))[:0]
	return &r.Response
}

// besides is what a room needs in addition to its bytes: the Response, and one word of the
// allocator.
const besides = 72

// rooms have the size classes of the Go allocator.
var rooms = []struct {
	bytes int
	make  func() *Response
}{
	{512 - besides, newRoom[[512 - besides]byte]}, {1024 - besides, newRoom[[1024 - besides]byte]},
	{1536 - besides, newRoom[[1536 - besides]byte]}, {2048 - besides, newRoom[[2048 - besides]byte]},
	{2688 - besides, newRoom[[2688 - besides]byte]}, {3072 - besides, newRoom[[3072 - besides]byte]},
	{3456 - besides, newRoom[[3456 - besides]byte]}, {4096 - besides, newRoom[[4096 - besides]byte]},
	{4864 - besides, newRoom[[4864 - besides]byte]}, {6144 - besides, newRoom[[6144 - besides]byte]},
	{8192 - besides, newRoom[[8192 - besides]byte]}, {12288 - besides, newRoom[[12288 - besides]byte]},
	{16384 - besides, newRoom[[16384 - besides]byte]}, {24576 - besides, newRoom[[24576 - besides]byte]},
}

// roomFor makes an empty Response with capacity for so many bytes. Bytes beyond the largest room
// are allocated separately.
func roomFor(bytes int) *Response {
	for _, size := range rooms {
		if bytes <= size.bytes {
			return size.make()
		}
	}
	return &Response{text: make([]byte, 0, bytes)}
}
