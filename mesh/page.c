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

/* The heat map of a rail. */
struct map {
	const struct mesh_results *results;
	const struct verdict *verdict;
};

/* What appears when the pointer is over a cell. */
static void put_figures(FILE *file, const struct map *map, unsigned int from, unsigned int to)
{
	const struct mesh_results *results = map->results;
	const struct mesh_result *result = results_bandwidth(results, from, to);
	const struct mesh_result *latency = results_latency(results, from, to);
	char text[MESH_RATE_SIZE], label[MESH_LABEL_SIZE];

	put_text(file, results_label(results, results->list->names[from], MESH_FROM, label));
	fputs(" -&gt; ", file);
	put_text(file, results_label(results, results->list->names[to], MESH_TO, label));
	if (result->state == MESH_GOOD) {
		results_rate_text(text, (double)result->bytes_per_second);
		fprintf(file, ": %s", text);
	} else {
		fputs(result->state == MESH_BROKEN ? ": failed" : ": not measured", file);
	}
	if (result->state == MESH_GOOD && map->verdict->good > 0)
		fprintf(file, " (%.0f %% of the typical rate)",
			100 * exp(map->verdict->bandwidth_values
					      [(size_t)from * results->list->count + to] -
				      map->verdict->bandwidth.typical));
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

static void put_cell(FILE *file, const struct map *map, unsigned int from, unsigned int to)
{
	const struct mesh_result *result = results_bandwidth(map->results, from, to);
	const struct localisation *by = &map->verdict->bandwidth;
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
	put_figures(file, map, from, to);
	fprintf(file, "\">%s</td>",
		result->state == MESH_BROKEN ? "&times;"
		: result->state != MESH_GOOD ? "?"
					     : "");
}

static void put_map(FILE *file, const struct map *map)
{
	unsigned int hosts = map->results->list->count;
	unsigned int size = hosts <= 16 ? 28 : hosts <= 32 ? 20 : hosts <= 64 ? 13 : 8;

	fputs("<h2>Bandwidth", file);
	if (map->results->named) {
		fputs(" of ", file);
		put_text(file, map->results->rail->name);
	}
	fprintf(file,
		", from the host of the row to that of the column</h2>\n"
		"<table class=map style=\"--cell:%upx\"><thead><tr><th></th>",
		size);
	for (unsigned int to = 0; to < hosts; to++) {
		fputs("<th><span>", file);
		put_text(file, map->results->list->names[to]);
		fputs("</span></th>", file);
	}
	fputs("</tr></thead>\n<tbody>\n", file);
	for (unsigned int from = 0; from < hosts; from++) {
		fputs("<tr><th>", file);
		put_text(file, map->results->list->names[from]);
		fputs("</th>", file);
		for (unsigned int to = 0; to < hosts; to++)
			put_cell(file, map, from, to);
		fputs("</tr>\n", file);
	}
	fputs("</tbody></table>\n", file);
}

/* What the colors of all maps mean. */
static void put_key(FILE *file)
{
	fputs("<p class=key>", file);
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
	const struct judgement *judgement = page->judgement;

	if (judgement->count == 0)
		return;
	fputs("<h2>Suspects</h2>\n<table class=list id=suspects><thead><tr><th>host</th><th>what</th>"
	      "<th>rate</th><th>directions</th><th>finding</th></tr></thead>\n<tbody>\n",
		file);
	for (unsigned int i = 0; i < judgement->count; i++) {
		const struct finding *finding = &judgement->findings[i];
		const struct accusation *accusation = &finding->accusation;
		const char *rail = judgement_rail(judgement, finding);

		fputs("<tr><td>", file);
		put_text(file, verdict_culprit(judgement->results, accusation, accusation->one));
		if (rail && judgement->rail_count > 1) {
			fputs("/", file);
			put_text(file, rail);
		}
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

/* The row of a host and its device of a rail. */
static void put_host(
	FILE *file, const struct coordinator *coordinator, const struct map *map, unsigned int host)
{
	static const struct mesh_facts unknown;
	const struct mesh_device *device =
		coordinator_rail_device(coordinator, host, map->results->rail, MESH_FROM);
	const struct mesh_facts *facts = device ? &device->facts : &unknown;
	const char *texts[] = {facts->device, facts->driver, facts->firmware, facts->rate};
	double sends = exp(map->verdict->bandwidth.egress[host]);
	double receives = exp(map->verdict->bandwidth.ingress[host]);

	fputs("<tr><td>", file);
	put_text(file, map->results->list->names[host]);
	fprintf(file,
		"</td><td class=n data-n=\"%.4f\">%.0f&nbsp;%%</td>"
		"<td class=n data-n=\"%.4f\">%.0f&nbsp;%%</td>",
		sends, 100 * sends, receives, 100 * receives);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fputs("<td>", file);
		put_text(file, texts[i]);
		fputs("</td>", file);
	}
	fprintf(file, "<td class=n data-n=\"%" PRIu64 "\">", facts->interface_mtu);
	if (facts->interface_mtu)
		fprintf(file, "%" PRIu64, facts->interface_mtu);
	fputs("</td></tr>\n", file);
}

static void put_hosts(FILE *file, const struct judgement *judgement)
{
	fputs("<h2>Hosts</h2>\n<table class=list id=hosts><thead><tr><th>host</th><th>sends</th>"
	      "<th>receives</th><th>device</th><th>driver</th><th>firmware</th><th>link</th><th>MTU"
	      "</th></tr></thead>\n<tbody>\n",
		file);
	for (unsigned int host = 0; host < judgement->coordinator->list->count; host++)
		for (unsigned int rail = 0; rail < judgement->rail_count; rail++) {
			const struct map map = {
				&judgement->results[rail], &judgement->verdicts[rail]};

			if (mesh_rail_is_plain(map.results->rail))
				put_host(file, judgement->coordinator, &map, host);
		}
	fputs("</tbody></table>\n", file);
}

static void put_page(FILE *file, const struct page *page)
{
	const struct judgement *judgement = page->judgement;
	char when[32], typical[VERDICT_TEXT_SIZE];
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
		judgement->coordinator->list->count,
		launcher_name(&judgement->coordinator->launcher), when, PROJECT_VERSION);
	judgement_typical(judgement, typical, sizeof(typical));
	fputs(*typical ? "; typical: " : "", file);
	put_text(file, typical);
	fputs(".</p>\n", file);
	put_findings(file, page);
	for (unsigned int rail = 0; rail < judgement->rail_count; rail++)
		put_map(file, &(struct map){&judgement->results[rail], &judgement->verdicts[rail]});
	put_key(file);
	put_hosts(file, judgement);
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
