// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"crypto/sha256"
	"hash"
	"slices"
	"strconv"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Bounds of an outline: whoever writes an object may give it as many fields, labels
// and finalizers as fit.
const (
	// maxOutlinedFields are kept apart, of an object and of its metadata.
	maxOutlinedFields = 128
	// maxOutlinedBytes and maxOutlinedLeaves are decoded of one field of the metadata.
	maxOutlinedBytes  = 64 << 10
	maxOutlinedLeaves = 512
	// otherFields stands for all fields beyond.
	otherFields = "\x00others"
)

// outline is an object of which only the metadata is decoded; every other field
// holds a digest of its text. So it can be said which labels it has, and whether
// two objects differ in a field, of objects of any size and depth: the API server
// writes equal values as equal text. It is nil when there is no object.
func outline(text []byte) map[string]any {
	c := &cursor{text: text}
	if b, ok := c.token(); !ok || b != '{' {
		return nil
	}
	d := digests{fields: map[string]any{}, others: sha256.New()}
	ended := c.fields(func(key string, c *cursor) bool {
		if key == "metadata" {
			if b, ok := c.token(); ok && b == '{' {
				metadata, ok := outlineMetadata(c)
				d.fields[key] = metadata
				return ok
			}
		}
		var size Size
		value, ok := c.value(&size)
		d.add(key, value)
		return ok
	})
	if !ended {
		return nil
	}
	return d.all()
}

// outlineMetadata decodes the short fields of the metadata that say which object it
// is, and those that decide about exemptions.
func outlineMetadata(c *cursor) (map[string]any, bool) {
	d := digests{fields: map[string]any{}, others: sha256.New()}
	ended := c.fields(func(key string, c *cursor) bool {
		var size Size
		value, ok := c.value(&size)
		d.add(key, value)
		short := len(value) <= maxOutlinedBytes && size.Leaves <= maxOutlinedLeaves && size.Containers <= 1
		if !short || !slices.Contains([]string{"name", "namespace", "uid", "labels", "finalizers", "deletionTimestamp"},
			key) {
			return ok
		}
		var decoded any
		if utiljson.Unmarshal(value, &decoded) == nil {
			d.fields[key] = decoded
		}
		return ok
	})
	return d.all(), ended
}

// digests are those of an object's fields: of the first ones each, and of all others
// one.
type digests struct {
	fields map[string]any
	others hash.Hash
	more   bool
}

func (d *digests) add(key string, value []byte) {
	sum := sha256.Sum256(value)
	if len(d.fields) < maxOutlinedFields {
		d.fields[key] = string(sum[:])
		return
	}
	d.more = true
	_, _ = d.others.Write([]byte(strconv.Itoa(len(key)) + ":" + key)) // a hash gives no error
	_, _ = d.others.Write(sum[:])
}

func (d *digests) all() map[string]any {
	if d.more {
		d.fields[otherFields] = string(d.others.Sum(nil))
	}
	return d.fields
}
