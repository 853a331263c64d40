// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/source/access"
)

const hookToken = "It's a Secret to Everybody"

// serve starts a receiver for these objects, at the address that it gives.
func serve(t *testing.T, objects ...client.Object) (address string) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	r := New(Options{Allowed: access.Namespaces{Own: "system"},
		Clock: clocktesting.NewFakePassiveClock(time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC))})
	r.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	r.secrets, r.log = access.Secrets{Reader: r.client}, logr.Discard()
	var err error
	if r.metrics, err = newMetrics(prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+HookPath+"/{namespace}/{name}", r)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + HookPath + "/"
}

// hooked are a source with a receiver and its token, and sources that lack something.
func hooked() []client.Object {
	source := func(namespace, name, secret string) client.Object {
		src := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if secret != "" {
			src.Spec.Receiver = &v1alpha1.SourceReceiver{SecretRef: v1alpha1.SecretReference{Name: secret}}
		}
		return src
	}
	return []client.Object{
		source("system", "hats", "token"), source("system", "silent", ""), source("system", "tokenless", "gone"),
		source("elsewhere", "hats", "token"),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "token"},
			Data: map[string][]byte{tokenKey: []byte(hookToken)}},
	}
}

// send sends a message, signed with a token, and gives the answer's code and text.
func send(t *testing.T, to string, body io.Reader, signature string) (code int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, body)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	req.Header.Set("X-Signature", signature)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(got)
}

func TestWhoDoesNotKnowTheTokenLearnsNothing(t *testing.T) {
	at := serve(t, hooked()...)
	const push = `{"ref":"refs/heads/main"}`
	good := hex.EncodeToString(signature([]byte(push), []byte(hookToken)))
	if code, text := send(t, at+"system/hats", strings.NewReader(push), good); code != http.StatusAccepted {
		t.Errorf("with the token: got %d %s", code, text)
	}
	for name, tc := range map[string]struct {
		body string
		code int
	}{
		"a push":          {push, http.StatusForbidden},
		"too much of one": {strings.Repeat(" ", maxMessageBytes+1), http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			var first string
			for _, to := range []string{
				"system/hats", "system/silent", "system/tokenless", "system/nobody", "elsewhere/hats",
			} {
				code, text := send(t, at+to, strings.NewReader(tc.body), "00")
				if first == "" {
					first = text
				}
				if diff := cmp.Diff(first, text); code != tc.code || diff != "" {
					t.Errorf("%s: got %d, want %d (-first +this):\n%s", to, code, tc.code, diff)
				}
			}
		})
	}
}

// unfinished is a message of which nothing comes until it is closed.
type unfinished chan struct{}

func (u unfinished) Read([]byte) (int, error) {
	<-u
	return 0, io.EOF
}

// Anyone who reaches the receiver may begin messages, and leave them unfinished.
func TestUnfinishedMessagesAreFew(t *testing.T) {
	const more = 10
	at := serve(t, hooked()...)
	begun, codes := make(unfinished), make(chan int)
	for i := range maxUnderway + more {
		to := []string{"system/hats", "system/nobody"}[i%2]
		go func() {
			code, _ := send(t, at+to, begun, "00")
			codes <- code
		}()
	}
	for range more {
		if code := <-codes; code != http.StatusTooManyRequests {
			t.Errorf("beyond %d messages one is answered %d", maxUnderway, code)
		}
	}
	close(begun)
	for range maxUnderway {
		if code := <-codes; code != http.StatusForbidden {
			t.Errorf("a message that ends is answered %d", code)
		}
	}
}
