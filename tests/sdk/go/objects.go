// objects.go -- what containers hold besides: lists of them, documents by many
// ids, unique values, documents whose time ends.
package main

import (
	"fmt"
	"sort"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func testLists(client *azcosmos.Client) {
	test("databases are listed by query", func() {
		newDatabase(client, "go-list-1")
		newDatabase(client, "go-list-2")
		ids := []string{}
		pager := client.NewQueryDatabasesPager(
			"SELECT * FROM d WHERE STARTSWITH(d.id, @name)",
			&azcosmos.QueryDatabasesOptions{QueryParameters: []azcosmos.QueryParameter{
				{Name: "@name", Value: "go-list-"}}})
		for pager.More() {
			for _, each := range must(pager.NextPage(ctx)).Databases {
				ids = append(ids, each.ID)
			}
		}
		sort.Strings(ids)
		equal(ids, []string{"go-list-1", "go-list-2"})
	})
	test("containers are listed by query", func() {
		database := newDatabase(client, "go-list-3")
		for n := 0; n < 3; n++ {
			must(database.CreateContainer(ctx,
				definition(fmt.Sprint("c", n), 2, "/pk"), nil))
		}
		list := func(query string) []string {
			ids := []string{}
			pager := database.NewQueryContainersPager(query, nil)
			for pager.More() {
				for _, each := range must(pager.NextPage(ctx)).Containers {
					equal(each.PartitionKeyDefinition.Paths, []string{"/pk"})
					ids = append(ids, each.ID)
				}
			}
			sort.Strings(ids)
			return ids
		}
		equal(list("SELECT * FROM c"), []string{"c0", "c1", "c2"})
		equal(list("SELECT * FROM c WHERE c.id > 'c0'"), []string{"c1", "c2"})
		pager := database.NewQueryContainersPager("SELEC", nil)
		fails[azcosmos.QueryContainersResponse](400, "")(pager.NextPage(ctx))
	})
}

func testMany(client *azcosmos.Client) {
	database := newDatabase(client, "go-many")
	test("many documents are read at once, and those that are none left out", func() {
		container := newContainer(database, definition("c", 2, "/pk"))
		wanted := []azcosmos.ItemIdentity{}
		for n := 0; n < 60; n++ {
			id, pk := fmt.Sprint("d", n), fmt.Sprint("k", n%9)
			key := azcosmos.NewPartitionKeyString(pk)
			if n%6 != 0 {
				must(container.CreateItem(ctx, key, body(object{"id": id, "pk": pk}), nil))
			}
			wanted = append(wanted, azcosmos.ItemIdentity{ID: id, PartitionKey: key})
		}
		found := must(container.ReadManyItems(ctx, wanted, nil))
		ids := map[string]bool{}
		for _, item := range found.Items {
			ids[parse(item)["id"].(string)] = true
		}
		equal(len(found.Items), 50)
		equal(len(ids), 50)
	})
	test("many documents are read by hierarchical keys", func() {
		container := newContainer(database, definition("tree", 2, "/a", "/b"))
		wanted := []azcosmos.ItemIdentity{}
		for n := 0; n < 4; n++ {
			key := azcosmos.NewPartitionKeyString("x").AppendNumber(float64(n))
			must(container.CreateItem(ctx, key,
				body(object{"id": "t", "a": "x", "b": n}), nil))
			wanted = append(wanted, azcosmos.ItemIdentity{ID: "t", PartitionKey: key})
		}
		equal(len(must(container.ReadManyItems(ctx, wanted[:3], nil)).Items), 3)
	})
}

func testUnique(client *azcosmos.Client) {
	wish := definition("c", 2, "/pk")
	wish.UniqueKeyPolicy = &azcosmos.UniqueKeyPolicy{
		UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/email"}}}}
	container := newContainer(newDatabase(client, "go-unique"), wish)
	p, q := azcosmos.NewPartitionKeyString("p"), azcosmos.NewPartitionKeyString("q")
	person := func(id, pk, email string) []byte {
		return body(object{"id": id, "pk": pk, "email": email})
	}

	test("a unique value is refused to a second document", func() {
		must(container.CreateItem(ctx, p, person("a", "p", "x"), nil))
		must(container.CreateItem(ctx, p, person("b", "p", "y"), nil))
		refused := fails[azcosmos.ItemResponse](409, "")
		refused(container.CreateItem(ctx, p, person("c", "p", "x"), nil))
		refused(container.UpsertItem(ctx, p, person("c", "p", "x"), nil))
		refused(container.ReplaceItem(ctx, p, "b", person("b", "p", "x"), nil))
		must(container.CreateItem(ctx, q, person("a", "q", "x"), nil))
		must(container.DeleteItem(ctx, p, "a", nil))
		must(container.ReplaceItem(ctx, p, "b", person("b", "p", "x"), nil))
	})
}

func testTTL(client *azcosmos.Client, endpoint string) {
	database := newDatabase(client, "go-ttl")
	p := azcosmos.NewPartitionKeyString("p")
	server := control{endpoint}
	lasting := func(id string, ttl int32) *azcosmos.ContainerClient {
		wish := definition(id, 2, "/pk")
		wish.DefaultTimeToLive = &ttl
		return newContainer(database, wish)
	}
	list := func(container *azcosmos.ContainerClient) string {
		return fmt.Sprint(rows(container, "SELECT VALUE c.id FROM c ORDER BY c.id", p,
			azcosmos.QueryOptions{}, false))
	}

	test("an item goes at the end of its ttl", func() {
		container := lasting("own", -1)
		for id, ttl := range map[string]int{"a": 1000, "b": 100000, "c": -1} {
			must(container.CreateItem(ctx, p,
				body(object{"id": id, "pk": "p", "ttl": ttl}), nil))
		}
		server.turnClock(1001)
		fails[azcosmos.ItemResponse](404, "")(container.ReadItem(ctx, p, "a", nil))
		fails[azcosmos.ItemResponse](404, "")(container.DeleteItem(ctx, p, "a", nil))
		equal(list(container), `["b" "c"]`)
		server.turnClock(100000)
		equal(list(container), `["c"]`)
	})
	test("an item without a ttl has that of its container", func() {
		container := lasting("default", 10000)
		must(container.CreateItem(ctx, p, body(object{"id": "a", "pk": "p"}), nil))
		must(container.CreateItem(ctx, p,
			body(object{"id": "b", "pk": "p", "ttl": -1}), nil))
		server.turnClock(6000)
		must(container.UpsertItem(ctx, p, body(object{"id": "a", "pk": "p"}), nil))
		server.turnClock(6000)
		equal(list(container), `["a" "b"]`)
		server.turnClock(6000)
		equal(list(container), `["b"]`)
	})
}
