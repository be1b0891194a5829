package wire

import "unsafe"

// room is a Response with the memory of its bytes right behind it.
type room[Space any] struct {
	Response
	space Space
}

func newRoom[Space any]() *Response {
	r := new(room[Space])
	r.text = unsafe.Slice((*byte)(unsafe.Pointer(&r.space)), unsafe.Sizeof(r.space))[:0]
	return &r.Response
}

// besides is what a room takes beside its bytes: the Response, and a word of the allocator's.
const besides = 72

// rooms fill sizes that the allocator has.
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

// roomFor makes an empty Response for so many bytes. What is bigger has them elsewhere.
func roomFor(bytes int) *Response {
	for _, size := range rooms {
		if bytes <= size.bytes {
			return size.make()
		}
	}
	return &Response{text: make([]byte, 0, bytes)}
}
