package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"evenkeel.dev/evenkeel/internal/policy"
)

// maxReviewBytes bounds the body of a review. The API server takes requests of
// at most 3 MiB, and an update's review holds the object twice.
const maxReviewBytes = 8 << 20

// The version of AdmissionReview that the webhook configuration asks for.
const (
	reviewAPIVersion = "admission.k8s.io/v1"
	reviewKind       = "AdmissionReview"
)

// review is an AdmissionReview (admission.k8s.io/v1) whose objects are decoded
// in the same pass, with whole numbers kept as int64.
type review struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Request    *reviewRequest `json:"request"`
}

type reviewRequest struct {
	UID         string                      `json:"uid"`
	Kind        metav1.GroupVersionKind     `json:"kind"`
	Resource    metav1.GroupVersionResource `json:"resource"`
	SubResource string                      `json:"subResource"`
	Name        string                      `json:"name"`
	Namespace   string                      `json:"namespace"`
	Operation   policy.Operation            `json:"operation"`
	UserInfo    reviewUser                  `json:"userInfo"`
	Object      map[string]any              `json:"object"`
	OldObject   map[string]any              `json:"oldObject"`
	DryRun      bool                        `json:"dryRun"`
	Options     reviewOptions               `json:"options"`
}

// reviewOptions are the options of the request that is reviewed.
type reviewOptions struct {
	FieldManager string `json:"fieldManager"`
}

type reviewUser struct {
	Username string   `json:"username"`
	UID      string   `json:"uid"`
	Groups   []string `json:"groups"`
}

// request is what the policies are asked.
func (r *reviewRequest) request(now time.Time) *policy.Request {
	return &policy.Request{
		UID:         r.UID,
		Operation:   r.Operation,
		Kind:        policy.GroupVersionKind{Group: r.Kind.Group, Version: r.Kind.Version, Kind: r.Kind.Kind},
		Resource:    r.Resource.Resource,
		SubResource: r.SubResource,
		Namespace:   r.Namespace,
		Name:        r.Name,
		Object:      r.Object,
		OldObject:   r.OldObject,
		UserInfo:    policy.UserInfo{Username: r.UserInfo.Username, UID: r.UserInfo.UID, Groups: r.UserInfo.Groups},
		DryRun:      r.DryRun,
		Now:         now,
	}
}

// badReview is a review that can't be answered, with the HTTP status to say so.
type badReview struct {
	status int
	err    error
}

func (b *badReview) Error() string { return b.err.Error() }
func (b *badReview) Unwrap() error { return b.err }

// readReview decodes the body of a review. Its error is a *badReview.
func readReview(w http.ResponseWriter, r *http.Request) (*reviewRequest, error) {
	if r.Method != http.MethodPost {
		return nil, &badReview{http.StatusMethodNotAllowed, fmt.Errorf("method %s: send the AdmissionReview with POST", r.Method)}
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, &badReview{http.StatusUnsupportedMediaType, fmt.Errorf("content type %q: send application/json", r.Header.Get("Content-Type"))}
	}
	body, err := readBody(http.MaxBytesReader(w, r.Body, maxReviewBytes), r.ContentLength)
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, &badReview{http.StatusRequestEntityTooLarge, fmt.Errorf("the review is larger than %d bytes", tooLarge.Limit)}
		}
		return nil, &badReview{http.StatusBadRequest, fmt.Errorf("reading the review: %w", err)}
	}
	req, err := decodeReview(body)
	if err != nil {
		return nil, &badReview{http.StatusBadRequest, err}
	}
	return req, nil
}

// readBody reads all of it into one allocation when its length is known.
func readBody(body io.Reader, length int64) ([]byte, error) {
	if length <= 0 || length > maxReviewBytes {
		return io.ReadAll(body)
	}
	buf := make([]byte, length)
	if _, err := io.ReadFull(body, buf); err != nil {
		return nil, err
	}
	return buf, nil
}

func decodeReview(body []byte) (*reviewRequest, error) {
	var rev review
	if err := utiljson.Unmarshal(body, &rev); err != nil {
		return nil, fmt.Errorf("decoding the AdmissionReview: %w", err)
	}
	if rev.APIVersion != reviewAPIVersion || rev.Kind != reviewKind {
		return nil, fmt.Errorf("got %q of %q: send %s of %s", rev.Kind, rev.APIVersion, reviewKind, reviewAPIVersion)
	}
	if rev.Request == nil || rev.Request.UID == "" {
		return nil, errors.New("the AdmissionReview has no request with a uid")
	}
	return rev.Request, nil
}

// response is the answer to a review (AdmissionResponse of admission.k8s.io/v1).
type response struct {
	UID              string            `json:"uid"`
	Allowed          bool              `json:"allowed"`
	Status           *metav1.Status    `json:"status,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	// Patch changes the object, in the form that PatchType names.
	Patch     []byte `json:"patch,omitempty"`
	PatchType string `json:"patchType,omitempty"`
}

// patchTypeJSON is a JSON Patch (RFC 6902), the only form there is.
const patchTypeJSON = "JSONPatch"

type responseReview struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   response `json:"response"`
}

func writeResponse(w http.ResponseWriter, resp response) error {
	body, err := json.Marshal(responseReview{APIVersion: reviewAPIVersion, Kind: reviewKind, Response: resp})
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

func refusal(code int32, reason metav1.StatusReason, message string) *metav1.Status {
	return &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
}
