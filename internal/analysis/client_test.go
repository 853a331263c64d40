// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"
)

// provider serves one answer to every query.
func provider(t *testing.T, code int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func newClient(t *testing.T, o Options) *Client {
	t.Helper()
	o.Clock, o.Registerer = clocktesting.NewFakePassiveClock(time.Unix(0, 0)), prometheus.NewRegistry()
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func vector(samples ...string) string {
	return fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[%s]}}`, strings.Join(samples, ","))
}

func TestSample(t *testing.T) {
	const one = `{"metric":{"job":"web"},"value":[1700000000,"0.25"]}`
	cases := map[string]struct {
		reason, body string
		code         int
		want         float64
		err          string
	}{
		"one series is a sample": {reason: "the plain case", body: vector(one), want: 0.25},
		"a scalar is a sample": {
			reason: "scalar(…) answers so",
			body:   `{"status":"success","data":{"resultType":"scalar","result":[1700000000,"3"]}}`, want: 3},
		"a warning is no error": {
			reason: "it is logged", body: strings.Replace(vector(one), `"status"`, `"warnings":["partial"],"status"`,
				1), want: 0.25},
		"no series is an error": {reason: "no data is never a pass", body: vector(), err: "no data"},
		"two series are an error": {
			reason: "which one counts?", body: vector(one, `{"metric":{"job":"db"},"value":[1700000000,"1"]}`),
			err: "several series"},
		"NaN is an error": {reason: "0/0", body: vector(`{"metric":{},"value":[1700000000,"NaN"]}`),
			err: "NaN, which says nothing"},
		"infinity is an error": {reason: "5/0", body: vector(`{"metric":{},"value":[1700000000,"+Inf"]}`),
			err: "+Inf, which says nothing"},
		"a histogram is an error": {
			reason: "not a number",
			body:   vector(`{"metric":{},"histogram":[1700000000,{"count":"1","sum":"1","buckets":[]}]}`),
			err:    "histogram"},
		"a range is an error": {
			reason: "many samples", body: `{"status":"success","data":{"resultType":"matrix","result":[]}}`,
			err: "matrix"},
		"a text is an error": {
			reason: "not a number",
			body:   `{"status":"success","data":{"resultType":"string","result":[1700000000,"1"]}}`,
			err:    "isn't one of its API"},
		"a refused query is an error": {reason: "the provider's words are shown", code: 400,
			body: `{"status":"error","errorType":"bad_data","error":"unknown function"}`, err: "unknown function"},
		"a failing provider is an error": {reason: "a proxy answers for it", code: 502, body: "bad gateway",
			err: "502"},
		"a page instead of an answer": {reason: "the address leads elsewhere", body: "<html>",
			err: "could not evaluate the query (bad_response)"},
		"an empty object is an error": {reason: "something else speaks JSON there", body: "{}",
			err: "ask Prometheus"},
		"an endless answer is an error": {reason: "a million series", body: vector(one) + strings.Repeat(" ", maxBody),
			err: "too large"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code := tc.code
			if code == 0 {
				code = http.StatusOK
			}
			got, err := newClient(t, Options{URL: provider(t, code, tc.body)}).Sample(t.Context(), "up")
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) ||
				got != tc.want {
				t.Errorf("%s: got %v, %v; want %v, %q", tc.reason, got, err, tc.want, tc.err)
			}
		})
	}
}

// Whoever writes a query reads its error. The token is the manager's, so no error
// may say anything of what Prometheus holds.
func TestAnErrorTellsNothingOfWhatPrometheusHolds(t *testing.T) {
	const secret = "hidden"
	series := `{"metric":{"tenant":"` + secret + `"},"value":[1700000000,"1"]}`
	refusal := func(kind string) string {
		return `{"status":"error","errorType":"` + kind + `","error":"found duplicate series {tenant=\"` + secret +
			`\"}"}`
	}
	cases := map[string]struct {
		code int
		body string
	}{
		"several series": {200, vector(series, series)},
		"no number": {
			200, vector(`{"metric":{"tenant":"` + secret + `"},"value":[1700000000,"NaN"]}`)},
		"a histogram": {
			200, vector(`{"metric":{"tenant":"` + secret +
				`"},"histogram":[1700000000,{"count":"1","sum":"1","buckets":[]}]}`)},
		"an evaluation that failed":       {422, refusal("execution")},
		"a failure within":                {500, refusal("internal")},
		"a sort of failure of its own":    {422, refusal(secret)},
		"a failure that feigns our words": {422, refusal("client_error")},
		"an answer that breaks off": {
			200, `{"status":"success","data":{"resultType":"vector","result":[` + series},
		"an answer of another form": {
			200, `{"status":"success","data":{"resultType":"` + secret + `","result":[` + series + `]}}`},
		"a text": {
			200, `{"status":"success","data":{"resultType":"string","result":[1700000000,"` + secret + `"]}}`},
		"a page":                {200, secret},
		"another server's page": {502, secret},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := newClient(t, Options{URL: provider(t, tc.code, tc.body)}).Sample(t.Context(), "up")
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAProviderThatIsGoneIsAnError(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	c := newClient(t, Options{URL: s.URL})
	if _, err := c.Sample(t.Context(), "up"); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
	if got := testutil.CollectAndCount(c.metrics.duration, "evenkeel_analysis_query_duration_seconds"); got != 1 {
		t.Errorf("%d series of latency, want that of errors", got)
	}
}

func TestASilentProviderIsAnError(t *testing.T) {
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	defer s.Close()
	defer close(done)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := newClient(t, Options{URL: s.URL}).Sample(ctx, "up"); err == nil ||
		!strings.Contains(err.Error(), "no answer within") {
		t.Errorf("got %v", err)
	}
}

func TestTheQuestionIsOneInstantQueryOfTheServersNow(t *testing.T) {
	var form map[string][]string
	var path string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		form, path = r.Form, r.URL.Path
		_, _ = fmt.Fprint(w, vector(`{"metric":{},"value":[1700000000,"1"]}`))
	}))
	defer s.Close()
	if _, err := newClient(t, Options{URL: s.URL + "/prometheus/"}).Sample(t.Context(), "sum(up)"); err != nil {
		t.Fatal(err)
	}
	if path != "/prometheus/api/v1/query" || form["query"][0] != "sum(up)" || form["time"] != nil {
		t.Errorf("got %s with %v", path, form)
	}
}

func TestTheTokenIsReadAnewAndNeverFollowsARedirect(t *testing.T) {
	var seen []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed, with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "first\n")
	c := newClient(t, Options{URL: s.URL, BearerTokenFile: file})
	for _, token := range []string{"first", "second"} {
		write(t, file, token+"\n")
		if _, err := c.Sample(t.Context(), "up"); err == nil {
			t.Error("a redirect was taken for an answer")
		}
	}
	if got := strings.Join(seen, ", "); got != "Bearer first, Bearer second" {
		t.Errorf("got %s", got)
	}
	write(t, file, " ")
	if _, err := c.Sample(t.Context(), "up"); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty token: got %v", err)
	}
}

func TestTheCertificateIsChecked(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, vector(`{"metric":{},"value":[1700000000,"1"]}`))
	}))
	defer s.Close()
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // a handshake that fails is meant
	s.StartTLS()
	if _, err := newClient(t, Options{URL: s.URL}).Sample(t.Context(), "up"); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: got %v", err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	if got, err := newClient(t, Options{URL: s.URL, CAFile: file}).Sample(t.Context(), "up"); got != 1 || err != nil {
		t.Errorf("a known authority: got %v, %v", got, err)
	}
}

func TestNewClientRefusesWhatCantBeUsed(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "text"), "no certificate")
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"another scheme": {Options{URL: "ftp://prometheus"}, "must be of the form"},
		"no host":        {Options{URL: "prometheus:9090"}, "must be of the form"},
		"a password":     {Options{URL: "https://me:secret@prometheus"}, "no user or password"},
		"a query":        {Options{URL: "https://prometheus/?x=1"}, "no ?query"},
		"not a URL":      {Options{URL: "http://[::1"}, "isn't a URL"},
		"no certificate": {Options{URL: "https://prometheus", CAFile: filepath.Join(dir, "text")},
			"--prometheus-ca-file must name a file of certificates in PEM"},
		"no file": {Options{URL: "https://prometheus", CAFile: filepath.Join(dir, "nothing")}, "no such file"},
		"no token": {Options{URL: "https://prometheus", BearerTokenFile: filepath.Join(dir, "nothing")},
			"no such file"},
	} {
		tc.options.Registerer = prometheus.NewRegistry()
		if _, err := NewClient(tc.options); err == nil || !strings.Contains(err.Error(), tc.want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
