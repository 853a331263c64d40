// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/intake/jsonvalue"
)

// arrival is one review on its way in.
type arrival struct {
	reader *Reader
	body   io.Reader
	// length is what the request says of its length; negative when it doesn't.
	length   int64
	key      Key
	releases []func()
}

// read reads as much as it may, and decodes that. What it returns holds nothing of the memory that the text arrived in.
func (a *arrival) read(ctx context.Context) (*Review, error) {
	release, err := a.reader.arriving.Acquire(ctx, a.key, prefixBytes)
	if err != nil {
		return nil, busy()
	}
	defer release()
	buffer, kept := a.reader.prefixes.Get().(*[prefixBytes]byte)
	if !kept {
		buffer = &[prefixBytes]byte{}
	}
	defer a.reader.prefixes.Put(buffer)
	text, ended, err := a.prefix(buffer[:])
	if err != nil {
		return nil, err
	}
	var why *Unread
	if !ended {
		if known, _, err := open(text).request(); err == nil {
			a.key.Flow = policy.Flow(known)
		}
		text, why = a.rest(ctx, text)
	}
	review, err := a.review(ctx, open(text), len(text), why)
	if err != nil {
		a.release()
	}
	return review, err
}

// prefix reads the beginning into a buffer. ended says that there is no more.
func (a *arrival) prefix(buffer []byte) (text []byte, ended bool, err error) {
	limit := int64(len(buffer))
	if a.length >= 0 {
		limit = min(limit, a.length)
	}
	text = buffer[:limit]
	n, err := io.ReadFull(a.body, text)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return text[:n], true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the review: %w", err)
	}
	return text, a.length == limit, nil
}

// rest reads all that follows the prefix, once there is room for it. Where it
// can't, it returns the prefix and why.
func (a *arrival) rest(ctx context.Context, prefix []byte) ([]byte, *Unread) {
	limit := a.reader.bounds.Review
	if a.length > limit {
		return prefix, tooLarge(limit)
	}
	room := a.length
	if room < 0 {
		room = limit
	}
	release, err := a.reader.reading.Acquire(ctx, a.key, room)
	if err != nil {
		return prefix, busy()
	}
	a.releases = append(a.releases, release)
	text := make([]byte, len(prefix), room)
	copy(text, prefix)
	n, err := io.ReadFull(a.body, text[len(prefix):room])
	text = text[:len(prefix)+n]
	switch {
	case err == nil && a.length < 0:
		return text, tooLarge(limit)
	case a.length < 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)), err == nil:
		return text, nil
	default:
		return text, unread(Incomplete, "its review didn't arrive whole in time: %v", err)
	}
}

func tooLarge(limit int64) *Unread {
	return unread(TooLarge, "its review has more than %d MiB, more than is read", limit>>20)
}

func busy() *Unread {
	return unread(Busy, "more requests wait to be judged than can be in time")
}

func (a *arrival) release() {
	for _, release := range a.releases {
		release()
	}
}

// review decodes what has arrived. Of objects that can't be decoded it keeps the
// outline, if they have arrived whole.
func (a *arrival) review(ctx context.Context, e *envelope, length int, why *Unread) (*Review, error) {
	if why == nil && !e.whole {
		return nil, errors.New("decoding the AdmissionReview: it isn't a whole JSON object")
	}
	request, more, err := e.request()
	if err != nil {
		if why != nil {
			return nil, fmt.Errorf("%w: %w", err, why)
		}
		return nil, err
	}
	review := &Review{Request: request, releases: a.releases}
	if why = cmp.Or(why, more); why != nil {
		return review.without(why), nil
	}
	if review.Options, err = e.options(); err != nil {
		return nil, err
	}
	a.key.Flow = policy.Flow(request)
	if why := a.decode(ctx, e, length, review); why != nil {
		request.Object, request.OldObject = outline(e.fields["object"]), outline(e.fields["oldObject"])
		return review.without(why), nil
	}
	return review, nil
}

// decode decodes the objects once there is room for what they hold.
func (a *arrival) decode(ctx context.Context, e *envelope, length int, review *Review) *Unread {
	needed, queue := cost(e.size, length), a.reader.small
	if needed > smallCost {
		queue = a.reader.large
	}
	switch {
	case e.size.Depth > MaxDepth:
		return unread(TooDeep, "its object is nested %d deep, deeper than the %d that are read", e.size.Depth, MaxDepth)
	case needed > queue.Capacity:
		return unread(TooMany, "its objects hold %d values, more than there is memory for (%d MiB of %d MiB)",
			e.size.Containers+e.size.Leaves, needed>>20, queue.Capacity>>20)
	}
	release, err := queue.Acquire(ctx, a.key, needed)
	if err != nil {
		return busy()
	}
	if why := decodeObjects(&a.reader.decoder, e, review.Request); why != nil {
		release()
		return why
	}
	// The text isn't needed any more, but for that of managed fields, which counts as what the objects hold: let others
	// arrive while this one is judged.
	a.release()
	review.releases = []func(){release}
	return nil
}

// decodeObjects decodes the objects without their managed fields, which stay text until somebody asks for them.
func decodeObjects(decoder *jsonvalue.Decoder, e *envelope, into *policy.Request) *Unread {
	for name, object := range map[string]*map[string]any{"object": &into.Object, "oldObject": &into.OldObject} {
		if len(e.fields[name]) == 0 {
			continue
		}
		decoded, left, err := decoder.Lean(e.fields[name])
		if err != nil {
			return unread(Undecodable, "its %s can't be decoded: %v", name, err)
		}
		*object = decoded
		if left == nil {
			continue
		}
		if into.ManagedFields == nil {
			into.ManagedFields = &policy.ManagedFields{}
		}
		own := bytes.Clone(left)
		into.ManagedFields.Add(decoded, func() ([]any, error) { return decoder.List(own) })
	}
	return nil
}
