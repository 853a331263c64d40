package intake

import (
	"crypto/sha256"

	utiljson "k8s.io/apimachinery/pkg/util/json"
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
	out := map[string]any{}
	ended := c.fields(func(key string, c *cursor) bool {
		if key == "metadata" {
			if b, ok := c.token(); ok && b == '{' {
				metadata, ok := outlineMetadata(c)
				out[key] = metadata
				return ok
			}
		}
		var size Size
		value, ok := c.value(&size)
		out[key] = sum(value)
		return ok
	})
	if !ended {
		return nil
	}
	return out
}

// maxOutlined bounds what is decoded of one field of the metadata: whoever writes
// an object may give it as many labels and finalizers as fit.
const maxOutlined = 64 << 10

// outlineMetadata decodes the short fields of the metadata, among them those that
// decide about exemptions.
func outlineMetadata(c *cursor) (map[string]any, bool) {
	out := map[string]any{}
	return out, c.fields(func(key string, c *cursor) bool {
		var size Size
		value, ok := c.value(&size)
		out[key] = sum(value)
		if len(value) > maxOutlined || key == "annotations" || key == "managedFields" {
			return ok
		}
		var decoded any
		if utiljson.Unmarshal(value, &decoded) == nil {
			out[key] = decoded
		}
		return ok
	})
}

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	return string(digest[:])
}
