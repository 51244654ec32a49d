/*
 * See mesh/page.h. The heat map is a table of small cells, which a browser needs no program to
 * show; a short script only sorts the lists. Every text that came from a host is escaped.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/version.h"
#include "mesh/page.h"

static const char style[] =
	"body{font:14px/1.45 system-ui,sans-serif;margin:24px;color:#1c2530;background:#fff}"
	"h1{font-size:20px;margin:0 0 4px}h2{font-size:15px;margin:24px 0 8px}"
	".bad{color:#a3211b}.good{color:#17663a}p{margin:4px 0}"
	"table{border-collapse:collapse}.list th,.list td{border-bottom:1px solid #d5dae0;"
	"padding:3px 14px 3px 0;text-align:left;vertical-align:top}"
	".list th{cursor:pointer;user-select:none}.list td.n{text-align:right}"
	".map{table-layout:fixed}.map th{font-weight:normal;font-size:10px;color:#445}"
	".map thead th{height:74px;vertical-align:bottom;padding:0}"
	".map thead span{writing-mode:vertical-rl;transform:rotate(180deg);white-space:nowrap;"
	"max-height:72px;overflow:hidden}"
	".map tbody th{text-align:right;padding:0 6px 0 0;white-space:nowrap}"
	".map td{width:var(--cell);min-width:var(--cell);height:var(--cell);padding:0;"
	"border:1px solid #fff;font-size:9px;text-align:center;color:#1c2530}"
	".map td.self{background:#fff}.map td.none{background:#d3d7dc}"
	".map td.fail{background:#6b1f2a;color:#fff}.map td.low{outline:1.5px solid #6b1f2a;"
	"outline-offset:-2px}.map td:hover{outline:2px solid #1c2530}"
	".key span{display:inline-block;width:16px;height:12px;margin:0 5px 0 14px;"
	"vertical-align:-1px;border:1px solid #c3c9d0}"
	"@media print{body{margin:0;font-size:11px}.map td,.map th,.key span{"
	"-webkit-print-color-adjust:exact;print-color-adjust:exact}}";

/* Sorts a list by the column that is clicked: numbers by data-n, texts otherwise. */
static const char script[] =
	"document.querySelectorAll('.list th').forEach(function(h){h.onclick=function(){"
	"var t=h.closest('table'),b=t.tBodies[0],i=h.cellIndex,u=h.dataset.up!=='1';"
	"h.dataset.up=u?'1':'0';"
	"var k=function(r){var c=r.cells[i];return c.dataset.n!==undefined?+c.dataset.n:"
	"c.textContent};"
	"Array.from(b.rows).sort(function(x,y){var p=k(x),q=k(y);"
	"return(p<q?-1:p>q?1:0)*(u?1:-1)}).forEach(function(r){b.appendChild(r)})}});";

/* Writes text, with the characters of HTML escaped. */
static void put_text(FILE *file, const char *text)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", file);
			break;
		case '>':
			fputs("&gt;", file);
			break;
		case '&':
			fputs("&amp;", file);
			break;
		case '"':
			fputs("&quot;", file);
			break;
		default:
			fputc(*text, file);
		}
}

/*
 * The color of a rate relative to the typical one: from red (none) over yellow to green (typical or
 * better). Also in gray, slower is darker.
 */
static void put_color(FILE *file, double level)
{
	static const struct {
		double level;
		int red, green, blue;
	} stops[] = {
		{0, 190, 45, 45}, {0.5, 240, 150, 70}, {0.8, 250, 215, 120}, {1, 190, 226, 190}};
	size_t i = 0;
	double part;

	level = fmin(fmax(level, 0), 1);
	while (i < 2 && level > stops[i + 1].level)
		i++;
	part = (level - stops[i].level) / (stops[i + 1].level - stops[i].level);
	fprintf(file, "#%02x%02x%02x",
		(unsigned int)(stops[i].red + part * (stops[i + 1].red - stops[i].red)),
		(unsigned int)(stops[i].green + part * (stops[i + 1].green - stops[i].green)),
		(unsigned int)(stops[i].blue + part * (stops[i + 1].blue - stops[i].blue)));
}

/* What appears when the pointer is over a cell. */
static void put_figures(FILE *file, const struct page *page, unsigned int from, unsigned int to)
{
	const struct mesh_result *result = results_bandwidth(page->results, from, to);
	const struct mesh_result *latency = results_latency(page->results, from, to);
	char text[MESH_RATE_SIZE];

	put_text(file, page->results->list->names[from]);
	fputs(" -&gt; ", file);
	put_text(file, page->results->list->names[to]);
	if (result->state == MESH_GOOD) {
		results_rate_text(text, (double)result->bytes_per_second);
		fprintf(file, ": %s", text);
	} else {
		fputs(result->state == MESH_BROKEN ? ": failed" : ": not measured", file);
	}
	if (result->state == MESH_GOOD && page->verdict->good > 0)
		fprintf(file, " (%.0f %% of the typical rate)",
			100 * exp(page->verdict->bandwidth_values
					      [(size_t)from * page->results->list->count + to] -
				      page->verdict->bandwidth.typical));
	if (latency->state == MESH_GOOD) {
		results_latency_text(text, latency->median_ns);
		fprintf(file, ", latency %s", text);
	}
	if (result->tests > 1)
		fprintf(file, ", best of %u tests", result->tests);
	if (result->message) {
		fputs(": ", file);
		put_text(file, result->message);
	}
}

static void put_cell(FILE *file, const struct page *page, unsigned int from, unsigned int to)
{
	const struct mesh_result *result = results_bandwidth(page->results, from, to);
	const struct localisation *by = &page->verdict->bandwidth;
	size_t cell = (size_t)from * by->hosts + to;

	if (from == to) {
		fputs("<td class=self></td>", file);
		return;
	}
	fputs("<td class=\"", file);
	fputs(result->state == MESH_BROKEN   ? "fail"
		: result->state != MESH_GOOD ? "none"
		: by->low[cell]              ? "low"
					     : "",
		file);
	if (result->state == MESH_GOOD) {
		fputs("\" style=\"background:", file);
		put_color(file, exp(by->values[cell] - by->typical));
	}
	fputs("\" title=\"", file);
	put_figures(file, page, from, to);
	fprintf(file, "\">%s</td>",
		result->state == MESH_BROKEN ? "&times;"
		: result->state != MESH_GOOD ? "?"
					     : "");
}

static void put_map(FILE *file, const struct page *page)
{
	unsigned int hosts = page->results->list->count;
	unsigned int size = hosts <= 16 ? 28 : hosts <= 32 ? 20 : hosts <= 64 ? 13 : 8;

	fprintf(file,
		"<h2>Bandwidth, from the host of the row to that of the column</h2>\n"
		"<table class=map style=\"--cell:%upx\"><thead><tr><th></th>",
		size);
	for (unsigned int to = 0; to < hosts; to++) {
		fputs("<th><span>", file);
		put_text(file, page->results->list->names[to]);
		fputs("</span></th>", file);
	}
	fputs("</tr></thead>\n<tbody>\n", file);
	for (unsigned int from = 0; from < hosts; from++) {
		fputs("<tr><th>", file);
		put_text(file, page->results->list->names[from]);
		fputs("</th>", file);
		for (unsigned int to = 0; to < hosts; to++)
			put_cell(file, page, from, to);
		fputs("</tr>\n", file);
	}
	fputs("</tbody></table>\n<p class=key>", file);
	for (int tenths = 10; tenths >= 0; tenths -= 5) {
		fputs("<span style=\"background:", file);
		put_color(file, tenths / 10.0);
		fprintf(file, "\"></span>%d %% of the typical rate", tenths * 10);
	}
	fputs("<span style=\"background:#6b1f2a\"></span>failed"
	      "<span style=\"background:#d3d7dc\"></span>not measured</p>\n",
		file);
}

static void put_findings(FILE *file, const struct page *page)
{
	const struct verdict *verdict = page->verdict;

	if (verdict->count == 0)
		return;
	fputs("<h2>Suspects</h2>\n<table class=list id=suspects><thead><tr><th>host</th><th>what</th>"
	      "<th>rate</th><th>directions</th><th>finding</th></tr></thead>\n<tbody>\n",
		file);
	for (unsigned int i = 0; i < verdict->count; i++) {
		const struct finding *finding = &verdict->findings[i];
		const struct accusation *accusation = &finding->accusation;

		fputs("<tr><td>", file);
		put_text(file, verdict_culprit(page->results, accusation, accusation->one));
		fprintf(file, "</td><td>%s%s</td>",
			finding->kind == VERDICT_HOST ? "not tested"
						      : verdict_kind_name(accusation->kind),
			accusation->undecided ? ", undecided" : "");
		fprintf(file, "<td class=n data-n=\"%.4f\">%.0f&nbsp;%%</td>", accusation->level,
			100 * accusation->level);
		fprintf(file, "<td class=n data-n=\"%u\">%u of %u</td><td>", accusation->low,
			accusation->low, accusation->of);
		put_text(file, finding->text);
		fputs("</td></tr>\n", file);
	}
	fputs("</tbody></table>\n", file);
}

static void put_hosts(FILE *file, const struct page *page)
{
	fputs("<h2>Hosts</h2>\n<table class=list id=hosts><thead><tr><th>host</th><th>sends</th>"
	      "<th>receives</th><th>device</th><th>driver</th><th>firmware</th><th>link</th><th>MTU"
	      "</th></tr></thead>\n<tbody>\n",
		file);
	for (unsigned int i = 0; i < page->results->list->count; i++) {
		const struct mesh_facts *facts = &page->coordinator->hosts[i].facts;
		double sends = exp(page->verdict->bandwidth.egress[i]);
		double receives = exp(page->verdict->bandwidth.ingress[i]);

		fputs("<tr><td>", file);
		put_text(file, page->results->list->names[i]);
		fprintf(file,
			"</td><td class=n data-n=\"%.4f\">%.0f&nbsp;%%</td>"
			"<td class=n data-n=\"%.4f\">%.0f&nbsp;%%</td><td>",
			sends, 100 * sends, receives, 100 * receives);
		put_text(file, facts->device);
		fputs("</td><td>", file);
		put_text(file, facts->driver);
		fputs("</td><td>", file);
		put_text(file, facts->firmware);
		fputs("</td><td>", file);
		put_text(file, facts->rate);
		fprintf(file, "</td><td class=n data-n=\"%" PRIu64 "\">", facts->interface_mtu);
		if (facts->interface_mtu)
			fprintf(file, "%" PRIu64, facts->interface_mtu);
		fputs("</td></tr>\n", file);
	}
	fputs("</tbody></table>\n", file);
}

static void put_page(FILE *file, const struct page *page)
{
	char when[32], rate[MESH_RATE_SIZE], latency[MESH_RATE_SIZE];
	time_t now = time(NULL);
	struct tm utc;

	strftime(when, sizeof(when), "%F %T UTC", gmtime_r(&now, &utc));
	fprintf(file,
		"<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
		"<meta name=viewport content=\"width=device-width\">"
		"<title>RDMA mesh: %s</title>\n<style>%s</style></head>\n<body>\n",
		page->word, style);
	fprintf(file, "<h1 id=verdict class=%s>%s</h1>\n<p>",
		strcmp(page->word, "healthy") == 0 ? "good" : "bad", page->word);
	put_text(file, page->message);
	fprintf(file, ".</p>\n<p>%u hosts, started by %s; %s; rdma-client %s",
		page->results->list->count, launcher_name(&page->coordinator->launcher), when,
		PROJECT_VERSION);
	if (page->verdict->good > 0 && !page->verdict->of_link) {
		results_rate_text(rate, exp(page->verdict->bandwidth.typical));
		results_latency_text(latency, (uint64_t)exp(-page->verdict->latency.typical));
		fprintf(file, "; typical: %s, %s", rate, latency);
	}
	fputs(".</p>\n", file);
	put_findings(file, page);
	put_map(file, page);
	put_hosts(file, page);
	fprintf(file, "<script>%s</script>\n</body></html>\n", script);
}

int page_write(const struct page *page, const char *path)
{
	FILE *file = fopen(path, "we");
	int error = 0;

	if (!file)
		return -errno;
	put_page(file, page);
	if (ferror(file))
		error = -EIO;
	if (fclose(file) && !error)
		error = -errno;
	return error;
}
