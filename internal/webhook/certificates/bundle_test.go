// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/test/webhooktest"
)

func TestCABundle(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fresh := webhooktest.NewAuthority(t, certificateAuthority, now.Add(-time.Hour))
	before := webhooktest.NewAuthority(t, certificateAuthority, now.Add(-20*time.Hour))
	earlier := webhooktest.NewAuthority(t, certificateAuthority, now.Add(-21*time.Hour))
	expired := webhooktest.NewAuthority(t, certificateAuthority, now.Add(-30*time.Hour))
	strange := webhooktest.NewAuthority(t, "somebody-else", now.Add(-20*time.Hour))
	cases := map[string]struct {
		reason    string
		trusted   []byte
		now       time.Time
		want      [][]byte
		wantUntil time.Time
	}{
		"at first there is only the present one": {now: now, want: [][]byte{fresh.Cert()}},
		"what is trusted already stays":          {now: now, trusted: fresh.Cert(), want: [][]byte{fresh.Cert()}},
		"after a rotation the one before is kept for an hour": {
			reason:    "replicas that serve the old certificate are still believed",
			now:       now,
			trusted:   before.Cert(),
			want:      [][]byte{fresh.Cert(), before.Cert()},
			wantUntil: now.Add(time.Hour),
		},
		"two that came soon after one another are both kept": {
			reason:    "a second rotation doesn't undo what the first one promised",
			now:       now,
			trusted:   slices.Concat(before.Cert(), earlier.Cert()),
			want:      [][]byte{fresh.Cert(), before.Cert(), earlier.Cert()},
			wantUntil: now.Add(time.Hour),
		},
		"then it's dropped": {now: now.Add(time.Hour), trusted: slices.Concat(fresh.Cert(), before.Cert()),
			want: [][]byte{fresh.Cert()}},
		"an expired one isn't kept":     {now: now, trusted: expired.Cert(), want: [][]byte{fresh.Cert()}},
		"a strange one isn't kept":      {now: now, trusted: strange.Cert(), want: [][]byte{fresh.Cert()}},
		"what is no certificate is not": {now: now, trusted: []byte("rubbish"), want: [][]byte{fresh.Cert()}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, until, err := caBundle(fresh.Data, tc.trusted, tc.now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(slices.Concat(tc.want...)), string(got)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			if !until.Equal(tc.wantUntil) {
				t.Errorf("until %s, want %s", until, tc.wantUntil)
			}
		})
	}
}

func TestServable(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good, other := webhooktest.NewAuthority(t, certificateAuthority, now.Add(-time.Hour)),
		webhooktest.NewAuthority(t, certificateAuthority, now.Add(-2*time.Hour))
	with := func(key string, value []byte) map[string][]byte {
		data := maps.Clone(good.Data)
		data[key] = value
		return data
	}
	cases := map[string]struct {
		secret map[string][]byte
		name   string
		now    time.Time
		want   string // part of the error, empty for none
	}{
		"a pair beside its authority is servable": {secret: good.Data},
		"an empty Secret isn't":                   {want: "don't fit"},
		"a key of another certificate isn't": {secret: with(serverKeyName, other.Data[serverKeyName]),
			want: "don't fit"},
		"a certificate of another authority isn't": {
			secret: with(caCertName, other.Cert()), want: "unknown authority"},
		"a certificate without its authority's isn't": {
			secret: with(caCertName, nil), want: "ca.crt holds no certificate"},
		"one for another name isn't": {secret: good.Data, name: "evenkeel-webhook.other.svc",
			want: "evenkeel-webhook.other.svc"},
		"one that has expired isn't": {secret: good.Data, now: now.Add(48 * time.Hour),
			want: "expired"},
		"one that isn't valid yet, by our clock, isn't": {secret: good.Data, now: now.Add(-48 * time.Hour),
			want: "not yet valid"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			expires, err := servable(tc.secret, nameOr(tc.name), later(tc.now, now))
			if tc.want == "" {
				if err != nil || !expires.Equal(now.Add(23*time.Hour)) {
					t.Fatalf("expires %s, error %v", expires, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want it to say %q", err, tc.want)
			}
		})
	}
}

func nameOr(name string) string {
	if name == "" {
		return "localhost"
	}
	return name
}

// later is the time, or the default for none.
func later(at, otherwise time.Time) time.Time {
	if at.IsZero() {
		return otherwise
	}
	return at
}

func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{caCertName, serverCertName, serverKeyName} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(content)
	}
	return out
}

func TestCertDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, a := range []webhooktest.Authority{
		webhooktest.NewAuthority(t, "a", start), webhooktest.NewAuthority(t, "b", start)} {
		for range 2 { // the second time nothing is left to do
			if err := writeCertDir(dir, a.Data); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, name := range []string{caCertName, serverCertName, serverKeyName} {
				want[name] = string(a.Data[name])
			}
			if diff := cmp.Diff(want, readAll(t, dir)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		}
	}
	generations, err := filepath.Glob(filepath.Join(dir, generationPrefix+"*"))
	if err != nil || len(generations) != 1 {
		t.Errorf("old certificates are left over: %v %v", generations, err)
	}
	if block, _ := pem.Decode([]byte(readAll(t, dir)[serverCertName])); block == nil {
		t.Error("tls.crt isn't PEM")
	}
}

func TestCertDirKeepsAPairThatFits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good, other := webhooktest.NewAuthority(t, "a", start), webhooktest.NewAuthority(t, "b", start)
	if err := writeCertDir(dir, good.Data); err != nil {
		t.Fatal(err)
	}
	before := readAll(t, dir)
	mixed := map[string][]byte{caCertName: good.Cert(), serverCertName: good.Data[serverCertName],
		serverKeyName: other.Data[serverKeyName]}
	if err := writeCertDir(dir, mixed); err == nil {
		t.Error("a key that doesn't fit its certificate was written")
	}
	if diff := cmp.Diff(before, readAll(t, dir)); diff != "" {
		t.Errorf("the good pair is gone (-want +got)\n%s", diff)
	}
}
