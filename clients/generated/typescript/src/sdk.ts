// The main job with the client that @hey-api/openapi-ts generates from the contract.
import { client } from "./made/sdk/client.gen.js";
import { createInbox, deleteInbox, getLatestMessage, getMessage, listMessages, sendMessage } from "./made/sdk/sdk.gen.js";
import { check, mail } from "./mail.js";

const key = process.env["INBOX_API_KEY"]!;
client.setConfig({ baseUrl: process.env["INBOX_BASE_URL"]!, auth: (scheme) => (scheme.name === "X-API-Key" ? key : undefined) });

const made = await createInbox({ body: {} });
const path = { addr: check(made.data, made.error).address };
await mail(path.addr);
const latest = await getLatestMessage({ path, query: { wait: 30, otp: true, after: 0 } });
const email = check(latest.data?.email, latest.error);
const list = await listMessages({ path, query: { direction: "in" } });
if (check(list.data, list.error).emails[0]?.from.email !== "shop@example.com") throw new Error("the list lacks the mail");
const sent = await sendMessage({ path, body: { to: path.addr, subject: "Hello" } });
const id = check(sent.data, sent.error).message_id;
const kept = await getMessage({ path: { ...path, id } });
check(kept.data?.email.send_status, kept.error);
const refused = await sendMessage({ path, body: { to: "nobody" } });
check(refused.error?.detail, refused.data);
check((await deleteInbox({ path })).data, "the inbox is still there");
console.log(email.otp_code);
