package webhook

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/cert-controller/pkg/rotator"
)

type authority struct {
	data map[string][]byte // as in the Secret
}

// newAuthority makes a Secret's content as the rotator does.
func newAuthority(t *testing.T, name string, begin time.Time) authority {
	t.Helper()
	r := &rotator.CertRotator{CAName: name, CAOrganization: "evenkeel.dev", DNSName: "localhost", ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	ca, err := r.CreateCACert(begin, begin.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := r.CreateCertPEM(ca, begin, begin.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return authority{data: map[string][]byte{caCertName: ca.CertPEM, "ca.key": ca.KeyPEM, serverCertName: cert, serverKeyName: key}}
}

func (a authority) cert() []byte { return a.data[caCertName] }

func TestCABundle(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fresh := newAuthority(t, certificateAuthority, now.Add(-time.Hour))
	before := newAuthority(t, certificateAuthority, now.Add(-20*time.Hour))
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
		"then it's dropped":             {now: now.Add(time.Hour), trusted: slices.Concat(fresh.cert(), before.cert()), want: [][]byte{fresh.cert()}},
		"an expired one isn't kept":     {now: now, trusted: expired.cert(), want: [][]byte{fresh.cert()}},
		"a strange one isn't kept":      {now: now, trusted: strange.cert(), want: [][]byte{fresh.cert()}},
		"what is no certificate is not": {now: now, trusted: []byte("rubbish"), want: [][]byte{fresh.cert()}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, until, err := caBundle(fresh.cert(), tc.trusted, tc.now)
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

func TestCABundleOfABadSecret(t *testing.T) {
	if _, _, err := caBundle([]byte("rubbish"), nil, time.Unix(0, 0)); err == nil {
		t.Error("a CA that can't be read must not be written into the configuration")
	}
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
	mixed := map[string][]byte{caCertName: good.cert(), serverCertName: good.data[serverCertName], serverKeyName: other.data[serverKeyName]}
	if err := writeCertDir(dir, mixed); err == nil {
		t.Error("a key that doesn't fit its certificate was written")
	}
	if diff := cmp.Diff(before, readAll(t, dir)); diff != "" {
		t.Errorf("the good pair is gone (-want +got)\n%s", diff)
	}
}
