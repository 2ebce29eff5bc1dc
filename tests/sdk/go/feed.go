// feed.go -- the change feed: from the beginning, a time and a token, of the
// whole container, a feed range and a key.
//
// This client sends a time with the zone UTC, and a range id with every key.
package main

import (
	"fmt"
	"sort"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

const feedCount = 40

func fillFeed(container *azcosmos.ContainerClient, from int) {
	for n := from; n < from+feedCount; n++ {
		pk := fmt.Sprint("k", n%8)
		must(container.CreateItem(ctx, azcosmos.NewPartitionKeyString(pk),
			body(object{"id": fmt.Sprint("d", n), "pk": pk, "n": n}), nil))
	}
}

// feedIDs are those of documents from..from+feedCount, of one key or (-1) all.
func feedIDs(key int, froms ...int) []string {
	ids := []string{}
	for _, from := range froms {
		for n := from; n < from+feedCount; n++ {
			if key < 0 || n%8 == key {
				ids = append(ids, fmt.Sprint("d", n))
			}
		}
	}
	sort.Strings(ids)
	return ids
}

// drainFeed reads until nothing came for as many pages as there are ranges.
func drainFeed(container *azcosmos.ContainerClient, options azcosmos.ChangeFeedOptions,
	ranges int) ([]string, string) {
	ids := []string{}
	token := ""
	options.MaxItemCount = 7
	if options.FeedRange == nil && options.Continuation == nil {
		options.FeedRange = &azcosmos.FeedRange{MaxExclusive: "FF"}
	}
	for quiet, pages := 0, 0; quiet <= ranges; pages++ {
		page := must(container.ReadChangeFeed(ctx, &options))
		if page.RequestCharge <= 0 || pages > 200 {
			fail("page %d: %v", pages, page.RawResponse.Header)
		}
		if len(page.Items) == 0 {
			quiet++
		} else {
			quiet = 0
		}
		for _, item := range page.Items {
			ids = append(ids, parse(item)["id"].(string))
		}
		token = page.ContinuationToken
		options.Continuation = &token
	}
	sort.Strings(ids)
	return ids, token
}

func testFeedOf(container *azcosmos.ContainerClient, ranges int) {
	of := fmt.Sprintf("of %d range(s)", ranges)
	test("a feed "+of+" read from the beginning has everything once", func() {
		fillFeed(container, 0)
		ids, token := drainFeed(container, azcosmos.ChangeFeedOptions{}, ranges)
		equal(ids, feedIDs(-1, 0))
		fillFeed(container, 1000)
		more, _ := drainFeed(container,
			azcosmos.ChangeFeedOptions{Continuation: &token}, ranges)
		equal(more, feedIDs(-1, 1000))
	})
	test("a feed "+of+" read from a time has what is as late", func() {
		past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		ids, _ := drainFeed(container, azcosmos.ChangeFeedOptions{StartFrom: &past}, ranges)
		equal(ids, feedIDs(-1, 0, 1000))
		ids, _ = drainFeed(container, azcosmos.ChangeFeedOptions{StartFrom: &future}, ranges)
		equal(ids, []string{})
	})
	test("a feed "+of+" read by feed ranges is complete", func() {
		all := []string{}
		parts := must(container.ReadFeedRanges(ctx, nil))
		equal(len(parts), ranges)
		for _, part := range parts {
			ids, _ := drainFeed(container, azcosmos.ChangeFeedOptions{FeedRange: &part}, 1)
			all = append(all, ids...)
		}
		sort.Strings(all)
		equal(all, feedIDs(-1, 0, 1000))
	})
	test("a feed "+of+" read by key has that key's documents", func() {
		key := azcosmos.NewPartitionKeyString("k5")
		ids, _ := drainFeed(container, azcosmos.ChangeFeedOptions{PartitionKey: &key}, ranges)
		equal(ids, feedIDs(5, 0, 1000))
	})
}

func testFeedSplit(container *azcosmos.ContainerClient) {
	test("a token goes on through splits", func() {
		fillFeed(container, 0)
		_, token := drainFeed(container, azcosmos.ChangeFeedOptions{}, 1)
		must(container.ReplaceThroughput(ctx,
			azcosmos.NewManualThroughputProperties(30000), nil))
		// The split is queued before that is answered, so these come after it.
		fillFeed(container, 1000)
		ids, _ := drainFeed(container,
			azcosmos.ChangeFeedOptions{Continuation: &token}, 3)
		equal(ids, feedIDs(-1, 1000))
	})
}

func testFeed(client *azcosmos.Client) {
	database := newDatabase(client, "go-feed")
	must(database.CreateContainer(ctx, definition("one", 2, "/pk"), nil))
	testFeedOf(must(database.NewContainer("one")), 1)
	must(database.CreateContainer(ctx, definition("split", 2, "/pk"), nil))
	testFeedSplit(must(database.NewContainer("split")))
	testFeedOf(newContainer(database, definition("three", 2, "/pk")), 3)
}
