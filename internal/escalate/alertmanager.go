// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"evenkeel.dev/evenkeel/internal/httpclient"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// generator is the value of the label of that name on every alert that is
	// posted. By it a later leader finds what an earlier one has posted, and never
	// resolves what Prometheus posts under the same names.
	generator = "evenkeel"
	// requestTimeout is how long one request to a peer may take.
	requestTimeout = 10 * time.Second
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 32 << 20
	// batch is how many alerts go into one request.
	batch = 64
)

// posted is an alert as Alertmanager's API v2 has it (postableAlert and
// gettableAlert of its openapi.yaml).
type posted struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
	StartsAt    time.Time         `json:"startsAt,omitzero"`
	EndsAt      time.Time         `json:"endsAt,omitzero"`
}

// peer is one Alertmanager.
type peer struct {
	base *url.URL
	http *http.Client
}

// newPeers makes the peers of the addresses given. tokenFile holds a bearer token, caFile the authorities to
// trust instead of the system's, in PEM; both may be replaced while the manager runs, and may be empty.
func newPeers(addresses []string, tokenFile, caFile string) ([]*peer, error) {
	client, err := httpclient.New(httpclient.Options{
		Flags: "alertmanager", BearerTokenFile: tokenFile, CAFile: caFile, Timeout: requestTimeout})
	if err != nil {
		return nil, err
	}
	var peers []*peer
	for _, address := range addresses {
		base, err := url.Parse(address)
		if err != nil {
			return nil, fmt.Errorf("--alertmanager-url: %w", err)
		}
		peers = append(peers, &peer{base: base, http: client})
	}
	return peers, nil
}

// name tells the peer to people, without what its address may hold besides.
func (p *peer) name() string { return p.base.Host }

// firing are the alerts that the peer holds as firing, silenced and inhibited
// ones among them, of those that this cluster's Evenkeel has posted.
func (p *peer) firing(ctx context.Context, cluster string) ([]posted, error) {
	query := url.Values{"filter": {matcher("generator", generator), matcher("cluster", cluster)}}
	body, err := p.do(ctx, http.MethodGet, query, nil)
	if err != nil {
		return nil, err
	}
	var alerts []posted
	if err := json.Unmarshal(body, &alerts); err != nil {
		return nil, fmt.Errorf("ask Alertmanager %s: the answer isn't of its API v2: %w; check --alertmanager-url",
			p.name(), err)
	}
	return alerts, nil
}

func matcher(label, value string) string { return fmt.Sprintf("%s=%q", label, value) }

// post sends alerts, in batches. It errs when any wasn't taken.
func (p *peer) post(ctx context.Context, alerts []posted) error {
	for len(alerts) > 0 {
		n := min(len(alerts), batch)
		body, err := json.Marshal(alerts[:n])
		if err != nil {
			return err
		}
		if _, err := p.do(ctx, http.MethodPost, nil, body); err != nil {
			return err
		}
		alerts = alerts[n:]
	}
	return nil
}

func (p *peer) do(ctx context.Context, method string, query url.Values, body []byte) ([]byte, error) {
	at := p.base.JoinPath("api", "v2", "alerts")
	at.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := p.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reach Alertmanager %s: %w", p.name(), withoutAddress(err))
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read Alertmanager %s: %w", p.name(), err)
	}
	if response.StatusCode/100 == 3 {
		return nil, fmt.Errorf("%s to Alertmanager %s: it sends on to another address (%s), which isn't followed: "+
			"give the final one as --alertmanager-url", method, p.name(), response.Status)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s to Alertmanager %s: %s%s answers %s: %s", method, p.name(), at.Host, at.Path,
			response.Status, prose.Shorten(string(answer), maxMessage))
	}
	return answer, nil
}

// withoutAddress drops the address from an error, since it may hold a password.
func withoutAddress(err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}
