package persist

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// Whatever an ordinary record holds, it writes the bytes that the encoding of all records
// gives, or leaves them to it.
func TestOrdinaryRecordsWriteTheSameBytes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, rec := range []ordinary{new(profileRecord), new(messageRecord), new(contentRecord), new(publicRecord)} {
		taken := 0
		for range 5000 {
			fill(rnd, reflect.ValueOf(rec).Elem(), rnd.Float64())
			got, ok := rec.append([]byte{recordVersion})
			if !ok {
				continue
			}
			taken++
			var want bytes.Buffer
			want.WriteByte(recordVersion)
			must(t, encoding.MarshalToBuffer(rec, &want))
			if !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("%+v\n got %x\nwant %x", rec, got, want.Bytes())
			}
		}
		if taken < 100 {
			t.Errorf("%T was written %d times", rec, taken)
		}
	}
}

// What every mail writes is written the fast way.
func TestAnOrdinaryMailIsOrdinary(t *testing.T) {
	r := receive("a@example.org", 1, make([]byte, 2048))
	var recs records
	recs.profile.from(r.Profile)
	recs.message.from(r.Put[0])
	c := *r.Store[0].Content
	c.Auth.Server = "mx.example.org"
	c.OTP.Code = ""
	recs.content.from(&c, true, &recs.auth)
	recs.public.from(&r.Public[0])
	for _, rec := range []ordinary{&recs.profile, &recs.message, &recs.content, &recs.public} {
		if _, ok := rec.append(nil); !ok {
			t.Errorf("%+v is not", rec)
		}
	}
}

// fill sets about the given part of a record's members, the others to nothing.
func fill(rnd *rand.Rand, v reflect.Value, part float64) {
	v.SetZero()
	for i := range v.NumField() {
		f := v.Field(i)
		if rnd.Float64() >= part || !f.CanSet() {
			continue
		}
		number := rnd.Uint64() >> rnd.IntN(65)
		switch f.Kind() {
		case reflect.String:
			f.SetString(strings.Repeat("\xffé", rnd.IntN([...]int{1, 2, 20, 300, 70_000}[rnd.IntN(5)])))
		case reflect.Int, reflect.Int64:
			f.SetInt([...]int64{int64(number), -int64(number), math.MinInt64, math.MaxInt64}[rnd.IntN(4)])
		case reflect.Uint8, reflect.Uint64:
			f.SetUint(number >> (64 - f.Type().Bits()))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Array:
			f.Index(rnd.IntN(f.Len())).SetUint(number >> 56)
		case reflect.Slice:
			if rnd.IntN(8) == 0 { // what is rare
				f.Set(reflect.MakeSlice(f.Type(), 1, 1))
			}
		case reflect.Struct:
			fill(rnd, f, part)
		case reflect.Pointer:
			if f.Type() == reflect.TypeFor[*authRecord]() {
				f.Set(reflect.New(f.Type().Elem()))
				fill(rnd, f.Elem(), part)
			} else if rnd.IntN(8) == 0 {
				f.Set(reflect.New(f.Type().Elem()))
			}
		default:
			panic(f.Kind())
		}
	}
}
