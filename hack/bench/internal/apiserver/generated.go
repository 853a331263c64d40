// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// generation is the resource version of lists of generated objects.
const generation = "1000000"

// batch is how many bytes of a list are sent at once.
const batch = 1 << 16

// list answers with a page, as long as asked for.
func (k *Kind) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	// What is no number is none: the first page, all of it.
	from, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	until := k.Objects.Len()
	if limit > 0 {
		until = min(from+limit, until)
	}
	next, left := "", k.Objects.Len()-until
	if left > 0 {
		next = fmt.Sprintf(`,"continue":"%d","remainingItemCount":%d`, until, left)
	}
	w.Header().Set("Content-Type", "application/json")
	text := fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":%q%s},"items":[`,
		k.Kind, k.groupVersion(), generation, next)
	for n := from; n < until; n++ {
		if n > from {
			text = append(text, ',')
		}
		text = k.Objects.Append(text, n)
		if len(text) >= batch {
			if _, err := w.Write(text); err != nil {
				return
			}
			text = text[:0]
		}
	}
	// Who has gone needs no end.
	_, _ = w.Write(append(text, "]}\n"...))
}

// watch sends every object where a list is asked for, and then nothing: generated objects never change.
func (k *Kind) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var text []byte
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for n := range k.Objects.Len() {
			text = append(text, `{"type":"ADDED","object":`...)
			text = append(k.Objects.Append(text, n), "}\n"...)
			if len(text) >= batch {
				if _, err := w.Write(text); err != nil {
					return
				}
				text = text[:0]
			}
		}
		text = append(text, bookmark(k, generation)...)
	}
	_, err := w.Write(text)
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	if err != nil {
		return
	}
	select {
	case <-r.Context().Done():
	case <-watchEnds(r):
	}
}

// watchEnds tells when a watch has been on for as long as it was to.
func watchEnds(r *http.Request) <-chan time.Time {
	seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	if err != nil {
		return nil
	}
	return time.After(time.Duration(seconds) * time.Second)
}

// bookmark is the event that ends a list which a watch begins with.
func bookmark(k *Kind, version string) string {
	return fmt.Sprintf(`{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q,`+
		`"annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", k.Kind, k.groupVersion(), version)
}
