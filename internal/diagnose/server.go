// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// oldestServer is the first version of Kubernetes with all that is used: match
	// conditions of webhooks are stable since then.
	oldestServer = "1.30.0"
	// skewWarn and skewFail are how far clocks may differ: windows, deadlines and
	// leases are read by them, and the Date of an answer is a whole second.
	skewWarn = 5 * time.Second
	skewFail = time.Minute
)

func apiServer(ctx context.Context, in *Installation) []Finding {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(in.Server, "/")+"/version", nil)
	if err != nil {
		return []Finding{unread("the API server", err)}
	}
	asked := in.Clock.Now()
	answer, err := in.HTTP.Do(request)
	if err != nil {
		return []Finding{unread("the API server", err)}
	}
	defer answer.Body.Close()
	took := in.Clock.Since(asked)
	if answer.StatusCode == http.StatusUnauthorized {
		return []Finding{failed("log in again, or see what kubectl config view --minify names; kubectl auth whoami "+
			"says whether it is accepted", "the API server at %s doesn't take your credentials (401 Unauthorized): "+
			"they are wrong, or have expired", in.Server)}
	}
	if answer.StatusCode != http.StatusOK {
		return []Finding{unread("the API server's version", fmt.Errorf("it answered %s", answer.Status))}
	}
	var info struct{ GitVersion string }
	if err := json.NewDecoder(answer.Body).Decode(&info); err != nil {
		return []Finding{unread("the API server's version", err)}
	}
	return []Finding{serverVersion(info.GitVersion), clockSkew(answer.Header.Get("Date"), asked.Add(took/2))}
}

func serverVersion(text string) Finding {
	running, err := version.ParseSemantic(text)
	if err != nil {
		return unread("the API server's version", err)
	}
	if running.LessThan(version.MustParseSemantic(oldestServer)) {
		return failed("upgrade the cluster", "Kubernetes %s is older than %s, the oldest that Evenkeel works with",
			text, oldestServer)
	}
	return fine("Kubernetes %s", text)
}

// clockSkew compares the Date of an answer with the time at which it was made.
func clockSkew(date string, now time.Time) Finding {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return unread("the API server's clock", err)
	}
	// A Date is cut to the second: half of one is lost on average.
	skew := now.Sub(theirs.Add(time.Second / 2)).Abs().Round(100 * time.Millisecond)
	do := "have both kept in step by NTP: maintenance windows, deadlines and leases are read by them"
	switch {
	case skew > skewFail:
		return failed(do, "the API server's clock and this machine's differ by %s", skew)
	case skew > skewWarn:
		return warned(do, "the API server's clock and this machine's differ by %s", skew)
	default:
		return fine("the API server's clock and this machine's agree")
	}
}

func kinds(ctx context.Context, in *Installation) []Finding {
	var found []Finding
	for _, want := range in.Kinds {
		is := &apiextensionsv1.CustomResourceDefinition{}
		err := in.Client.Get(ctx, client.ObjectKeyFromObject(want), is)
		const do = "kubectl apply --server-side -k config/crd, of the version that you run"
		switch {
		case apierrors.IsNotFound(err):
			found = append(found, failed(do, "CustomResourceDefinition %s isn't installed", want.Name))
		case err != nil:
			found = append(found, unread("CustomResourceDefinition "+want.Name, err))
		case !established(is):
			found = append(found, failed("kubectl describe crd "+want.Name, "CustomResourceDefinition %s isn't served",
				want.Name))
		case !sameSchema(want, is):
			found = append(found, warned(do, "CustomResourceDefinition %s is of another version than this program",
				want.Name))
		}
	}
	return orFine(found, "all %d kinds are installed, at this version", len(in.Kinds))
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

func sameSchema(want, is *apiextensionsv1.CustomResourceDefinition) bool {
	have := map[string]*apiextensionsv1.CustomResourceValidation{}
	for _, v := range is.Spec.Versions {
		have[v.Name] = v.Schema
	}
	for _, v := range want.Spec.Versions {
		if have[v.Name] == nil || !equality.Semantic.DeepEqual(plain(v.Schema), plain(have[v.Name])) {
			return false
		}
	}
	return true
}

// plain is a value as JSON says it, whatever the spelling.
func plain(v any) any {
	var out any
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return string(raw)
	}
	return out
}
