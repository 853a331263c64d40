// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Lists has lists and watches of Evenkeel's own kinds read object by object. One that
// isn't of its kind's form, stored by an older schema say, would make its whole list
// unreadable, and a watch end: no policy would come into force any more for the sake of
// one. So it is given without its spec, and without a status that can't be read,
// with the reason in an annotation (v1alpha1.Malformed), and it is logged and counted. A single
// object that is asked for by its name is given as it is: reading it is an error.
type Lists struct {
	scheme *runtime.Scheme
	log    logr.Logger
	found  *prometheus.CounterVec

	mu sync.Mutex
	// said are the versions of objects that were told of.
	said map[string]string
}

// NewLists takes the scheme by whose types is judged. A nil registerer counts for nobody.
func NewLists(scheme *runtime.Scheme, registerer prometheus.Registerer, log logr.Logger) (*Lists, error) {
	found, err := registerLists(registerer)
	if err != nil {
		return nil, err
	}
	return &Lists{scheme: scheme, log: log, said: map[string]string{}, found: found}, nil
}

// Wrap reads the answers of a transport, as rest.Config.Wrap takes it.
func (l *Lists) Wrap(inner http.RoundTripper) http.RoundTripper {
	return readable{inner: inner, by: l}
}

type readable struct {
	inner http.RoundTripper
	by    *Lists
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (t readable) WrappedRoundTripper() http.RoundTripper { return t.inner }

func (t readable) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.inner.RoundTrip(r)
	if err != nil || !ours(r, response) {
		return response, err
	}
	if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		response.Body = &frames{body: response.Body, decoder: json.NewDecoder(response.Body), by: t.by}
		return response, nil
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // it was read to its end, or the reading has failed
	if err != nil {
		return nil, err
	}
	text = t.by.list(text)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	response.Header.Del("Content-Length")
	return response, nil
}

// ours says that objects of our own are answered with, in JSON.
func ours(r *http.Request, response *http.Response) bool {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err == nil && kind == runtime.ContentTypeJSON && r.Method == http.MethodGet &&
		response.StatusCode == http.StatusOK &&
		response.Header.Get("Content-Encoding") == "" &&
		strings.Contains(r.URL.Path, "/apis/"+v1alpha1.GroupVersion.String()+"/")
}

// frames are the events of a watch, each in its own JSON value.
type frames struct {
	body    io.ReadCloser
	decoder *json.Decoder
	by      *Lists
	rest    []byte
}

func (f *frames) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		var frame json.RawMessage
		if err := f.decoder.Decode(&frame); err != nil {
			return 0, err
		}
		f.rest = append(f.by.event(frame), '\n')
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *frames) Close() error { return f.body.Close() }

func (l *Lists) event(frame []byte) []byte {
	var event struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	var of metav1.TypeMeta
	if json.Unmarshal(frame, &event) != nil || json.Unmarshal(event.Object, &of) != nil {
		return frame
	}
	object, changed := l.object(of.GroupVersionKind(), event.Object)
	if !changed {
		return frame
	}
	event.Object = object
	text, err := json.Marshal(event)
	if err != nil {
		return frame
	}
	return text
}

// list is a list with readable objects; what isn't a list stays as it is.
func (l *Lists) list(text []byte) []byte {
	var of metav1.TypeMeta
	if json.Unmarshal(text, &of) != nil {
		return text
	}
	gvk := of.GroupVersionKind()
	kind, isList := strings.CutSuffix(gvk.Kind, "List")
	var whole map[string]json.RawMessage
	var items []json.RawMessage
	if !isList || json.Unmarshal(text, &whole) != nil || json.Unmarshal(whole["items"], &items) != nil {
		return text
	}
	anyChanged := false
	for i := range items {
		object, changed := l.object(gvk.GroupVersion().WithKind(kind), items[i])
		items[i], anyChanged = object, anyChanged || changed
	}
	if !anyChanged {
		return text
	}
	var err error
	if whole["items"], err = json.Marshal(items); err != nil {
		return text
	}
	out, err := json.Marshal(whole)
	if err != nil {
		return text
	}
	return out
}

func (l *Lists) object(gvk schema.GroupVersionKind, raw []byte) (object json.RawMessage, changed bool) {
	into, err := l.scheme.New(gvk)
	if err != nil || gvk.GroupVersion() != v1alpha1.GroupVersion {
		return raw, false // metadata alone, or a kind that nobody decodes
	}
	malformed := kjson.UnmarshalCaseSensitivePreserveInts(raw, into)
	if malformed == nil && !bytes.Contains(raw, []byte(v1alpha1.AnnotationMalformed)) {
		return raw, false
	}
	var whole map[string]json.RawMessage
	var meta metav1.ObjectMeta
	if json.Unmarshal(raw, &whole) != nil || json.Unmarshal(whole["metadata"], &meta) != nil {
		return raw, false
	}
	delete(meta.Annotations, v1alpha1.AnnotationMalformed) // a stored one says nothing
	if malformed != nil {
		l.tell(gvk.Kind, &meta, malformed)
		l.bare(gvk, whole)
		metav1.SetMetaDataAnnotation(&meta, v1alpha1.AnnotationMalformed,
			prose.Shorten(strings.ToValidUTF8(malformed.Error(), ""), maxReason))
	}
	var marshalErr error
	if whole["metadata"], marshalErr = json.Marshal(&meta); marshalErr != nil {
		return raw, false
	}
	text, marshalErr := json.Marshal(whole)
	return text, marshalErr == nil
}

// bare takes away all but the metadata and the status, and that too if it can't be read.
func (l *Lists) bare(gvk schema.GroupVersionKind, whole map[string]json.RawMessage) {
	maps.DeleteFunc(whole, func(field string, _ json.RawMessage) bool {
		return !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, field)
	})
	text, err := json.Marshal(whole)
	if err == nil {
		var into runtime.Object
		if into, err = l.scheme.New(gvk); err == nil {
			err = kjson.UnmarshalCaseSensitivePreserveInts(text, into)
		}
	}
	if err != nil {
		delete(whole, "status")
	}
}

// maxReason bounds what is said of a malformed object.
const maxReason = 1024

// tell logs and counts each version of an object once.
func (l *Lists) tell(kind string, meta *metav1.ObjectMeta, why error) {
	l.mu.Lock()
	key := kind + "/" + meta.Namespace + "/" + meta.Name
	known := l.said[key] == meta.ResourceVersion
	l.said[key] = meta.ResourceVersion
	l.mu.Unlock()
	if known {
		return
	}
	l.found.WithLabelValues(kind).Inc()
	l.log.Error(why, "An object isn't of its kind's form, and counts for nothing: correct it, or delete it", "kind",
		kind, "namespace", meta.Namespace, "name", meta.Name)
}
