// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"cmp"
	gojson "encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/internal/policy"
)

// The version of AdmissionReview that the webhook configuration asks for.
const (
	APIVersion = "admission.k8s.io/v1"
	Kind       = "AdmissionReview"
)

var (
	errNoReview = errors.New("decoding the AdmissionReview")
	// errObjects ends the decoding of a review at its objects.
	errObjects = errors.New("the objects aren't decoded")
)

// userInfo is policy.UserInfo as AdmissionReviews have it.
type userInfo struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

// decoder decodes one AdmissionReview, field by field: the API server writes the objects after the fields that name
// the user, the object and the operation, so these are known even where the objects can't be decoded. It decodes as
// the API server does: names are case-sensitive, of several fields of one name in an object the last counts, integers
// stay integers, and each object may be nested 10,000 deep.
type decoder struct {
	json.Decoder
	apiVersion, kind string
	// request is apart, so that it doesn't keep the text.
	request         *policy.Request
	resource        metav1.GroupVersionResource
	requestKind     *metav1.GroupVersionKind
	requestResource *metav1.GroupVersionResource
	// targets are where the fields of the request are decoded to, but for the objects.
	targets map[string]any
	// headOnly ends the decoding at the objects.
	headOnly bool
	// atObjects reports that they have been reached, and invalid why one can't be decoded.
	atObjects bool
	invalid   error
}

func newDecoder(text []byte) *decoder {
	r := &policy.Request{}
	d := &decoder{Decoder: json.NewDecoderCaseSensitivePreserveInts(bytes.NewReader(text)), request: r}
	d.targets = map[string]any{
		"uid": &r.UID, "operation": &r.Operation, "kind": (*metav1.GroupVersionKind)(&r.Kind), "resource": &d.resource,
		"subResource": &r.SubResource, "requestKind": &d.requestKind, "requestResource": &d.requestResource,
		"requestSubResource": &r.RequestSubResource, "name": &r.Name, "namespace": &r.Namespace,
		"userInfo": (*userInfo)(&r.UserInfo), "dryRun": &r.DryRun, "options": &r.Options,
	}
	return d
}

// decode decodes a review. It returns an error if the text doesn't say who requests what. The objects are decoded
// unless why is set, which is then the reason that the review gives.
func decode(text []byte, why *Unread) (*Review, error) {
	d := newDecoder(text)
	d.headOnly = why != nil
	err := d.fields(d.reviewField)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("more follows")
		}
	}
	r := d.request
	switch {
	case err != nil && !d.atObjects:
		return nil, fmt.Errorf("%w: %w", errNoReview, err)
	case d.apiVersion != APIVersion || d.kind != Kind:
		return nil, fmt.Errorf("%w: got %q of %q: send %s of %s", errNoReview, d.kind, d.apiVersion, Kind, APIVersion)
	case r.UID == "":
		return nil, fmt.Errorf("%w: it has no request with a uid", errNoReview)
	}
	r.Resource = d.resource.Resource
	r.RequestKind = (*policy.GroupVersionKind)(d.requestKind)
	r.RequestResource = (*policy.GroupVersionResource)(d.requestResource)
	review := &Review{Request: r}
	if invalid := cmp.Or(d.invalid, err); why == nil && invalid != nil {
		why = unread(Undecodable, "its %v", invalid)
	}
	if why != nil {
		return review.without(why), nil
	}
	return review, nil
}

// fields calls each for every field of the JSON object that comes next. each decodes the value.
func (d *decoder) fields(each func(name string) error) error {
	if token, err := d.Token(); err != nil {
		return err
	} else if token != gojson.Delim('{') {
		return fmt.Errorf("found %v instead of an object", token)
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if err := each(name); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func (d *decoder) reviewField(name string) error {
	switch name {
	case "apiVersion":
		return d.Decode(&d.apiVersion)
	case "kind":
		return d.Decode(&d.kind)
	case "request":
		return d.fields(d.requestField)
	default:
		return d.Decode(&gojson.RawMessage{})
	}
}

func (d *decoder) requestField(name string) error {
	switch name {
	case "object":
		return d.object(name, &d.request.Object)
	case "oldObject":
		return d.object(name, &d.request.OldObject)
	}
	into, known := d.targets[name]
	if !known {
		into = &gojson.RawMessage{}
	}
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("request.%s can't be decoded: %w", name, err)
	}
	return nil
}

func (d *decoder) object(name string, into *map[string]any) error {
	d.atObjects = true
	if d.headOnly {
		return errObjects
	}
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		d.invalid = fmt.Errorf("%s can't be decoded: %w", name, err)
		if isSyntax, _ := json.SyntaxErrorOffset(err); isSyntax || errors.Is(err, io.ErrUnexpectedEOF) {
			return errObjects
		}
	}
	*into = object
	return nil
}
