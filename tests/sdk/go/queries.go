// queries.go -- queries: this client sends them as they are and merges nothing.
package main

import (
	"encoding/json"
	"fmt"
	"sort"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

const queried = 57

func fill(database *azcosmos.DatabaseClient, id string, throughput int32) *azcosmos.ContainerClient {
	options := azcosmos.CreateContainerOptions{}
	if throughput > 0 {
		manual := azcosmos.NewManualThroughputProperties(throughput)
		options.ThroughputProperties = &manual
	}
	must(database.CreateContainer(ctx, definition(id, 2, "/pk"), &options))
	container := must(database.NewContainer(id))
	for n := 0; n < queried; n++ {
		pk := fmt.Sprint("p", n%5)
		must(container.CreateItem(ctx, azcosmos.NewPartitionKeyString(pk),
			body(object{"id": fmt.Sprint("i", n), "pk": pk, "n": n,
				"tags": []string{"a", fmt.Sprint("b", n%3)}}), nil))
	}
	return container
}

// rows reads all pages.  With a new pager for each, if it is to be resumed.
func rows(container *azcosmos.ContainerClient, query string, key azcosmos.PartitionKey,
	options azcosmos.QueryOptions, resumed bool) []string {
	var all []string
	pager := container.NewQueryItemsPager(query, key, &options)
	for pager.More() {
		page := must(pager.NextPage(ctx))
		for _, row := range page.Items {
			all = append(all, string(row))
		}
		if resumed && page.ContinuationToken != nil {
			options.ContinuationToken = page.ContinuationToken
			pager = container.NewQueryItemsPager(query, key, &options)
		}
	}
	return all
}

func testQueries(client *azcosmos.Client) {
	database := newDatabase(client, "go-queries")
	one := fill(database, "one", 0)
	three := fill(database, "three", 30000)
	all := azcosmos.NewPartitionKey()
	answers := []struct {
		query, rows string
		isOrdered   bool
	}{
		{"SELECT VALUE c.n FROM c WHERE c.n < 4 ORDER BY c.n DESC", "[3,2,1,0]", true},
		{"SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n", "[0,1,2]", true},
		{"SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 54 LIMIT 9", "[54,55,56]", true},
		{"SELECT VALUE c.n FROM c WHERE c.n > 53", "[54,55,56]", false},
		{"SELECT DISTINCT VALUE c.n % 3 FROM c", "[0,1,2]", false},
		{"SELECT VALUE COUNT(1) FROM c", "[57]", true},
		{"SELECT VALUE SUM(c.n) FROM c", "[1596]", true},
		{"SELECT VALUE AVG(c.n) FROM c", "[28]", true},
		{"SELECT c.pk, COUNT(1) AS k FROM c GROUP BY c.pk",
			`[{"pk":"p0","k":12},{"pk":"p1","k":12},{"pk":"p2","k":11},` +
				`{"pk":"p3","k":11},{"pk":"p4","k":11}]`, false},
		{"SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n = 4", `["a","b1"]`, true},
	}
	for where, container := range map[string]*azcosmos.ContainerClient{
		"one range": one, "three ranges": three} {
		for _, each := range answers {
			test(each.query+" over "+where, func() {
				var raw []json.RawMessage
				var expected []string
				must(0, json.Unmarshal([]byte(each.rows), &raw))
				for _, row := range raw {
					expected = append(expected, string(row))
				}
				for _, size := range []int32{0, 1, 2} {
					options := azcosmos.QueryOptions{PageSizeHint: size}
					found := rows(container, each.query, all, options, size == 1)
					if !each.isOrdered {
						sort.Strings(found)
						sort.Strings(expected)
					}
					equal(fmt.Sprint(found), fmt.Sprint(expected))
				}
			})
		}
		test("a key and parameters narrow a query over "+where, func() {
			options := azcosmos.QueryOptions{QueryParameters: []azcosmos.QueryParameter{
				{Name: "@n", Value: 40}}}
			found := rows(container, "SELECT VALUE c.n FROM c WHERE c.n > @n ORDER BY c.n",
				azcosmos.NewPartitionKeyString("p1"), options, false)
			equal(fmt.Sprint(found), "[41 46 51 56]")
		})
		test("what is no query is refused over "+where, func() {
			pager := container.NewQueryItemsPager("SELEC", all, nil)
			fails[azcosmos.QueryItemsResponse](400, "")(pager.NextPage(ctx))
		})
	}
}
