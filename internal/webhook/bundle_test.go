// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/cert-controller/pkg/rotator"
)

type authority struct {
	data map[string][]byte // as in the Secret
	// ca signs further certificates.
	ca *rotator.KeyPairArtifacts
}

// newAuthority makes a Secret's content as the rotator does.
func newAuthority(t *testing.T, name string, begin time.Time) authority {
	t.Helper()
	ca, err := testRotator(name).CreateCACert(begin, begin.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return authority{ca: ca}.renewed(t, begin)
}

// renewed is the authority with another certificate.
func (a authority) renewed(t *testing.T, begin time.Time) authority {
	t.Helper()
	cert, key, err := testRotator(certificateAuthority).CreateCertPEM(a.ca, begin, begin.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return authority{ca: a.ca,
		data: map[string][]byte{caCertName: a.ca.CertPEM, "ca.key": a.ca.KeyPEM, serverCertName: cert,
			serverKeyName: key}}
}

func testRotator(name string) *rotator.CertRotator {
	return &rotator.CertRotator{CAName: name, CAOrganization: authorityOrganization, DNSName: "localhost",
		ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
}

func (a authority) cert() []byte { return a.data[caCertName] }

func TestCABundle(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fresh := newAuthority(t, certificateAuthority, now.Add(-time.Hour))
	before := newAuthority(t, certificateAuthority, now.Add(-20*time.Hour))
	earlier := newAuthority(t, certificateAuthority, now.Add(-21*time.Hour))
	expired := newAuthority(t, certificateAuthority, now.Add(-30*time.Hour))
	strange := newAuthority(t, "somebody-else", now.Add(-20*time.Hour))
	cases := map[string]struct {
		reason    string
		trusted   []byte
		now       time.Time
		want      [][]byte
		wantUntil time.Time
	}{
		"at first there is only the present one": {now: now, want: [][]byte{fresh.cert()}},
		"what is trusted already stays":          {now: now, trusted: fresh.cert(), want: [][]byte{fresh.cert()}},
		"after a rotation the one before is kept for an hour": {
			reason:    "replicas that serve the old certificate are still believed",
			now:       now,
			trusted:   before.cert(),
			want:      [][]byte{fresh.cert(), before.cert()},
			wantUntil: now.Add(time.Hour),
		},
		"two that came soon after one another are both kept": {
			reason:    "a second rotation doesn't undo what the first one promised",
			now:       now,
			trusted:   slices.Concat(before.cert(), earlier.cert()),
			want:      [][]byte{fresh.cert(), before.cert(), earlier.cert()},
			wantUntil: now.Add(time.Hour),
		},
		"then it's dropped": {now: now.Add(time.Hour), trusted: slices.Concat(fresh.cert(), before.cert()),
			want: [][]byte{fresh.cert()}},
		"an expired one isn't kept":     {now: now, trusted: expired.cert(), want: [][]byte{fresh.cert()}},
		"a strange one isn't kept":      {now: now, trusted: strange.cert(), want: [][]byte{fresh.cert()}},
		"what is no certificate is not": {now: now, trusted: []byte("rubbish"), want: [][]byte{fresh.cert()}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, until, err := caBundle(fresh.data, tc.trusted, tc.now)
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
	good, other := newAuthority(t, certificateAuthority, now.Add(-time.Hour)),
		newAuthority(t, certificateAuthority, now.Add(-2*time.Hour))
	with := func(key string, value []byte) map[string][]byte {
		data := maps.Clone(good.data)
		data[key] = value
		return data
	}
	cases := map[string]struct {
		secret map[string][]byte
		name   string
		now    time.Time
		want   string // part of the error, empty for none
	}{
		"a pair beside its authority is servable": {secret: good.data},
		"an empty Secret isn't":                   {want: "don't fit"},
		"a key of another certificate isn't": {secret: with(serverKeyName, other.data[serverKeyName]),
			want: "don't fit"},
		"a certificate of another authority isn't": {
			secret: with(caCertName, other.cert()), want: "unknown authority"},
		"a certificate without its authority's isn't": {
			secret: with(caCertName, nil), want: "ca.crt holds no certificate"},
		"one for another name isn't": {secret: good.data, name: "evenkeel-webhook.other.svc",
			want: "evenkeel-webhook.other.svc"},
		"one that has expired isn't": {secret: good.data, now: now.Add(48 * time.Hour),
			want: "expired"},
		"one that isn't valid yet, by our clock, isn't": {secret: good.data, now: now.Add(-48 * time.Hour),
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
	for _, a := range []authority{newAuthority(t, "a", start), newAuthority(t, "b", start)} {
		for range 2 { // the second time nothing is left to do
			if err := writeCertDir(dir, a.data); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, name := range []string{caCertName, serverCertName, serverKeyName} {
				want[name] = string(a.data[name])
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
	good, other := newAuthority(t, "a", start), newAuthority(t, "b", start)
	if err := writeCertDir(dir, good.data); err != nil {
		t.Fatal(err)
	}
	before := readAll(t, dir)
	mixed := map[string][]byte{caCertName: good.cert(), serverCertName: good.data[serverCertName],
		serverKeyName: other.data[serverKeyName]}
	if err := writeCertDir(dir, mixed); err == nil {
		t.Error("a key that doesn't fit its certificate was written")
	}
	if diff := cmp.Diff(before, readAll(t, dir)); diff != "" {
		t.Errorf("the good pair is gone (-want +got)\n%s", diff)
	}
}
