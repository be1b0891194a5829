// The main job with the types that openapi-typescript generates from the contract.
import createClient from "openapi-fetch";
import type { paths } from "./made/paths.js";
import { check, mail } from "./mail.js";

const client = createClient<paths>({ baseUrl: process.env["INBOX_BASE_URL"]!, headers: { "X-API-Key": process.env["INBOX_API_KEY"]! } });

const made = await client.POST("/api/v1/inboxes", { body: {} });
const addr = check(made.data, made.error).address;
await mail(addr);
const latest = await client.GET("/api/v1/inboxes/{addr}/latest", { params: { path: { addr }, query: { wait: 30, otp: true, after: 0 } } });
const email = check(latest.data?.email, latest.error);
const list = await client.GET("/api/v1/inboxes/{addr}/messages", { params: { path: { addr }, query: { direction: "in" } } });
if (check(list.data, list.error).emails[0]?.from.email !== "shop@example.com") throw new Error("the list lacks the mail");
const sent = await client.POST("/api/v1/inboxes/{addr}/send", { params: { path: { addr } }, body: { to: addr, subject: "Hello" } });
const id = check(sent.data, sent.error).message_id;
const kept = await client.GET("/api/v1/inboxes/{addr}/messages/{id}", { params: { path: { addr, id } } });
check(kept.data?.email.send_status, kept.error);
const refused = await client.POST("/api/v1/inboxes/{addr}/send", { params: { path: { addr } }, body: { to: "nobody" } });
check(refused.error?.detail, refused.data);
check((await client.DELETE("/api/v1/inboxes/{addr}", { params: { path: { addr } } })).data, "the inbox is still there");
console.log(email.otp_code);
