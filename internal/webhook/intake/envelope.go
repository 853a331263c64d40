package intake

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"evenkeel.dev/evenkeel/internal/policy"
)

// The version of AdmissionReview that the webhook configuration asks for.
const (
	APIVersion = "admission.k8s.io/v1"
	Kind       = "AdmissionReview"
)

// envelope is an AdmissionReview taken apart, its parts still JSON. The API server
// writes who asks about what before the objects, so the beginning of a review is
// enough for that.
type envelope struct {
	apiVersion, kind []byte
	fields           map[string][]byte
	// whole says that the text held all of the review.
	whole bool
	// size is of the objects alone.
	size Size
}

// open takes a review apart, or as much of it as there is.
func open(text []byte) *envelope {
	e := &envelope{fields: map[string][]byte{}}
	c := &cursor{text: text}
	ended := c.fields(func(key string, c *cursor) bool {
		if key == "request" {
			if b, ok := c.token(); ok && b == '{' {
				return c.fields(e.requestField)
			}
		}
		var other Size
		value, ok := c.value(&other)
		switch key {
		case "apiVersion":
			e.apiVersion = value
		case "kind":
			e.kind = value
		}
		return ok
	})
	if ended {
		_, more := c.token()
		e.whole = !more
	}
	return e
}

func (e *envelope) requestField(key string, c *cursor) bool {
	var size Size
	value, ok := c.value(&size)
	if !ok {
		return false
	}
	e.fields[key] = value
	if key == "object" || key == "oldObject" {
		e.size.add(size)
	}
	return true
}

// user is who asks, as the review says it.
type user struct {
	Username string   `json:"username"`
	UID      string   `json:"uid"`
	Groups   []string `json:"groups"`
}

var errNoReview = errors.New("not an AdmissionReview")

// request decodes all but the objects. Its error wraps errNoReview when not even
// that can be told.
func (e *envelope) request() (*policy.Request, error) {
	var apiVersion, kind string
	if err := errors.Join(decodePart("apiVersion", e.apiVersion, &apiVersion), decodePart("kind", e.kind, &kind)); err != nil {
		return nil, err
	}
	if apiVersion != APIVersion || kind != Kind {
		return nil, fmt.Errorf("%w: got %q of %q: send %s of %s", errNoReview, kind, apiVersion, Kind, APIVersion)
	}
	r := &policy.Request{}
	var (
		of       metav1.GroupVersionKind
		resource metav1.GroupVersionResource
		by       user
	)
	for _, part := range []struct {
		name string
		into any
	}{
		{"uid", &r.UID}, {"kind", &of}, {"resource", &resource}, {"subResource", &r.SubResource}, {"name", &r.Name},
		{"namespace", &r.Namespace}, {"operation", &r.Operation}, {"userInfo", &by}, {"dryRun", &r.DryRun},
	} {
		if err := decodePart("request."+part.name, e.fields[part.name], part.into); err != nil {
			return nil, err
		}
	}
	if r.UID == "" {
		return nil, fmt.Errorf("%w: it has no request with a uid", errNoReview)
	}
	r.Kind = policy.GroupVersionKind{Group: of.Group, Version: of.Version, Kind: of.Kind}
	r.Resource = resource.Resource
	r.UserInfo = policy.UserInfo{Username: by.Username, UID: by.UID, Groups: by.Groups}
	return r, nil
}

// options are the options of the request that is reviewed; nil when there are
// none, or the text ended before them.
func (e *envelope) options() (map[string]any, error) {
	var out map[string]any
	return out, decodePart("request.options", e.fields["options"], &out)
}

// decodePart decodes one part; one that isn't there leaves into as it is.
func decodePart(name string, text []byte, into any) error {
	if len(text) == 0 {
		return nil
	}
	if err := utiljson.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: decoding its %s: %w", errNoReview, name, err)
	}
	return nil
}
