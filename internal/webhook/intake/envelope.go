// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"errors"
	"fmt"
	"slices"

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
	if slices.Contains(parts(), key) {
		e.fields[key] = value
	}
	if key == "object" || key == "oldObject" {
		e.size.add(size)
	}
	return true
}

// parts are the fields of a request that are read.
func parts() []string {
	return []string{"uid", "kind", "resource", "subResource", "requestKind", "requestResource", "requestSubResource",
		"name", "namespace", "operation", "userInfo", "dryRun", "options", "object", "oldObject"}
}

// maxPart bounds the text of a part that is decoded before memory is reserved for what
// it holds, and maxOptions that of the options. The API server's are a few hundred
// bytes long, but for a user of very many groups.
const (
	maxPart    = 128 << 10
	maxOptions = 16 << 10
)

// user is who asks. why says that not all of their groups are known.
func (e *envelope) user() (user policy.UserInfo, why *Unread, err error) {
	fields := map[string][]byte{}
	c := &cursor{text: e.fields["userInfo"]}
	whole := c.fields(func(key string, c *cursor) bool {
		var size Size
		value, ok := c.value(&size)
		if slices.Contains([]string{"username", "uid", "groups", "extra"}, key) {
			fields[key] = value
		}
		return ok
	})
	if !whole && len(c.text) > 0 {
		return user, nil, fmt.Errorf("%w: its request.userInfo isn't an object", errNoReview)
	}
	if len(fields["groups"]) > maxPart {
		why = unread(TooLarge, "its user is in so many groups that their names have more than %d KiB", maxPart>>10)
		delete(fields, "groups")
	}
	if len(fields["extra"]) > maxPart { // who asks is known without it
		delete(fields, "extra")
	}
	return user, why, errors.Join(
		decodePart("request.userInfo.username", fields["username"], &user.Username),
		decodePart("request.userInfo.uid", fields["uid"], &user.UID),
		decodePart("request.userInfo.groups", fields["groups"], &user.Groups),
		decodePart("request.userInfo.extra", fields["extra"], &user.Extra))
}

var errNoReview = errors.New("not an AdmissionReview")

// request decodes all but the objects. Its error wraps errNoReview when not even
// that can be told; why says that it holds too much to be decoded.
func (e *envelope) request() (r *policy.Request, why *Unread, err error) {
	var apiVersion, kind string
	if err := errors.Join(decodePart("apiVersion", e.apiVersion, &apiVersion),
		decodePart("kind", e.kind, &kind)); err != nil {
		return nil, nil, err
	}
	if apiVersion != APIVersion || kind != Kind {
		return nil, nil, fmt.Errorf("%w: got %q of %q: send %s of %s", errNoReview, kind, apiVersion, Kind, APIVersion)
	}
	r = &policy.Request{}
	var (
		of              metav1.GroupVersionKind
		resource        metav1.GroupVersionResource
		requestKind     *metav1.GroupVersionKind
		requestResource *metav1.GroupVersionResource
	)
	for _, part := range []struct {
		name string
		into any
	}{
		{"uid", &r.UID}, {"kind", &of}, {"resource", &resource}, {"subResource", &r.SubResource}, {"name", &r.Name},
		{"namespace", &r.Namespace}, {"operation", &r.Operation}, {"dryRun", &r.DryRun},
		{"requestKind", &requestKind}, {"requestResource", &requestResource},
		{"requestSubResource", &r.RequestSubResource},
	} {
		if err := decodePart("request."+part.name, e.fields[part.name], part.into); err != nil {
			return nil, nil, err
		}
	}
	if r.UID == "" {
		return nil, nil, fmt.Errorf("%w: it has no request with a uid", errNoReview)
	}
	r.Kind, r.RequestKind = policy.GroupVersionKind(of), (*policy.GroupVersionKind)(requestKind)
	r.RequestResource = (*policy.GroupVersionResource)(requestResource)
	r.Resource = resource.Resource
	r.UserInfo, why, err = e.user()
	return r, why, err
}

// options are the options of the request that is reviewed; nil when there are
// none, when they are longer than the API server's ever are, or the text ended before
// them.
func (e *envelope) options() (map[string]any, error) {
	var out map[string]any
	if len(e.fields["options"]) > maxOptions {
		return nil, nil
	}
	return out, decodePart("request.options", e.fields["options"], &out)
}

// decodePart decodes one part; one that isn't there leaves into as it is.
func decodePart(name string, text []byte, into any) error {
	if len(text) == 0 {
		return nil
	}
	if len(text) > maxPart {
		return fmt.Errorf("%w: its %s has more than %d KiB", errNoReview, name, maxPart>>10)
	}
	if err := utiljson.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%w: decoding its %s: %w", errNoReview, name, err)
	}
	return nil
}
