package limits

// The flags of the manager by which no author of a policy approves its plans.
const (
	FlagDistinctApprover = "--remediation-require-distinct-approver"
	FlagSourcesReviewed  = "--remediation-sources-are-reviewed"
)

// Floors is how careful every strategy must be at the least, whatever a policy asks
// for. The zero value asks for nothing.
type Floors struct {
	// DistinctApprover lets nobody approve a plan who has written its policy.
	DistinctApprover bool
	// SourcesReviewed says that the repositories of PolicySources let nothing in
	// without a second person, so that DistinctApprover asks for no other there.
	SourcesReviewed bool
}
