"""The report in a real browser: it loads without an error, tables and plots are there, the filter and keys work."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from docs_site.browser import PICTURES, chrome, resize, take_pictures
from sash_experiments.claims import CLAIMS
from sash_experiments.experiment import PAPERS
from sash_experiments.registry import EXPERIMENTS, run
from sash_experiments.report import page
from sash_experiments.verdicts import judged

RAN = ("pba-fig4", "daba-tab1", "ra-fig7")
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some experiments at the smallest scale, and a benchmark's."""
    folder = tmp_path_factory.mktemp("results")
    for name in RAN:
        assert list(run(EXPERIMENTS[name], "smoke", folder))
    (folder / "slicing.csv").write_text(
        "figure,setting,x,contender,round,tuples,unit,value\n"
        "8,in order,1000,sash rows,0,10,tuples/s,5000\n8,in order,1000,buckets,0,10,tuples/s,100\n"
        "8,in order,1,sash rows,0,10,tuples/s,6000\n8,in order,1,buckets,0,10,tuples/s,9000\n"
    )
    (folder / "slicing.json").write_text('{"cores": 2, "note": "</script><b>not markup</b>"}')
    return folder


@pytest.fixture(scope="module")
def report(results: Path) -> Path:
    path = results / "report.html"
    path.write_text(page(results), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser(report: Path) -> Iterator[webdriver.Chrome]:
    with chrome() as made:
        made.get(report.as_uri())
        yield made


def shown(browser: webdriver.Chrome, selector: str) -> list[Any]:
    return [each for each in browser.find_elements(By.CSS_SELECTOR, selector) if each.is_displayed()]


def console(browser: webdriver.Chrome) -> list[Any]:
    """What the page has written to the browser's console since it was last asked, errors first of all."""
    return list(browser.get_log("browser"))  # type: ignore[no-untyped-call]


def test_the_page_needs_nothing_from_elsewhere(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\"'\s<]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # the name of a vocabulary: nobody fetches it
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=\"(?!data:)", text)
    assert "<!--" not in text  # every part was put in


def test_it_loads_without_an_error_and_has_every_claim_and_plot(browser: webdriver.Chrome) -> None:
    assert console(browser) == []
    assert len(shown(browser, ".claims tbody tr")) == len(CLAIMS)
    assert [each.get_attribute("id") for each in shown(browser, ".experiment")] == list(EXPERIMENTS)
    for name in (*RAN, "slicing-fig8"):
        drawn = browser.find_elements(By.CSS_SELECTOR, f"#{name} .plot > svg [data-line]")
        assert len(drawn) >= 2, name
        assert browser.find_elements(By.CSS_SELECTOR, f"#{name} details td")
    assert "not markup" in browser.page_source and not browser.find_elements(By.CSS_SELECTOR, "details td b")


def test_a_chart_has_the_verdicts_of_each_paper(browser: webdriver.Chrome, results: Path) -> None:
    claims = list(judged(results))
    rows = shown(browser, ".by-paper > div")
    assert len(rows) == len(PAPERS)
    for paper, row in zip(PAPERS, rows, strict=True):
        mine = Counter(each.verdict for each in claims if EXPERIMENTS[each.claim.experiment].paper == paper)
        titles = [bar.get_attribute("title") for bar in row.find_elements(By.CSS_SELECTOR, ".bars > span")]
        assert sorted(titles) == sorted(f"{count} {verdict}" for verdict, count in mine.items())


def test_the_contents_stay_in_sight_and_lead_to_each_experiment(browser: webdriver.Chrome) -> None:
    links = browser.find_elements(By.CSS_SELECTOR, ".contents a")
    targets = [str(link.get_attribute("href")).partition("#")[2] for link in links]
    assert set(EXPERIMENTS) <= set(targets)
    assert all(browser.find_elements(By.ID, target) for target in targets)
    for width in (380, 1100, 1500):
        resize(browser, width, 900)
        browser.execute_script("window.scrollTo({top: 3000, behavior: 'instant'})")
        box = browser.execute_script("return document.querySelector('.contents').getBoundingClientRect().top")
        assert 0 <= box < 50
    browser.execute_script("document.getElementById('ra-fig7').scrollIntoView({behavior: 'instant'})")
    marked = (By.CSS_SELECTOR, ".contents a[aria-current]")
    WebDriverWait(browser, 10).until(lambda _: [one.text for one in browser.find_elements(*marked)] == ["ra-fig7"])
    browser.find_element(By.CSS_SELECTOR, ".to-top").send_keys(Keys.ENTER)
    WebDriverWait(browser, 10).until(lambda _: browser.execute_script("return window.scrollY") == 0)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_filter_shows_what_is_asked_for(browser: webdriver.Chrome) -> None:
    words = browser.find_element(By.ID, "words")
    words.send_keys("latency")
    rows = shown(browser, ".claims tbody tr")
    assert 0 < len(rows) < len(CLAIMS) and all("latency" in row.text.lower() for row in rows)
    assert browser.find_element(By.ID, "shown").text == f"{len(rows)} of {len(CLAIMS)} claims"
    words.clear()
    words.send_keys(" ", Keys.BACKSPACE)
    Select(browser.find_element(By.ID, "paper")).select_by_value("ra")
    assert {each.get_attribute("data-paper") for each in shown(browser, ".claims tbody tr, .experiment")} == {"ra"}
    Select(browser.find_element(By.ID, "paper")).select_by_value("mta")
    Select(browser.find_element(By.ID, "verdict")).select_by_value("notrun")
    rows = shown(browser, ".claims tbody tr")
    assert rows and all("not run" in row.text and "mta-exp" in row.text for row in rows)
    for menu in ("paper", "verdict"):
        Select(browser.find_element(By.ID, menu)).select_by_value("")
    assert len(shown(browser, ".claims tbody tr")) == len(CLAIMS)


def test_a_plot_is_read_with_the_keyboard_and_its_series_can_be_hidden(browser: webdriver.Chrome) -> None:
    plot = browser.find_element(By.CSS_SELECTOR, "#pba-fig4 .plot")
    plot.find_element(By.CSS_SELECTOR, "svg[tabindex]").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    read = plot.find_element(By.CLASS_NAME, "readout").text
    assert read.startswith("window size 2⁶: ") and "SBA columns" in read and "values/s" in read
    before = len(plot.find_elements(By.CSS_SELECTOR, "svg [data-line]"))
    plot.find_element(By.CSS_SELECTOR, "button[data-series='DABA']").send_keys(Keys.ENTER)
    assert len(plot.find_elements(By.CSS_SELECTOR, "svg [data-line]")) == before - 1
    assert browser.switch_to.active_element.get_attribute("aria-pressed") == "false"  # the focus stays where it was


def test_series_differ_in_shape_and_have_their_names_at_their_ends(browser: webdriver.Chrome) -> None:
    resize(browser, 1500, 900)
    browser.refresh()
    plot = browser.find_element(By.CSS_SELECTOR, "#pba-fig4 .plot")
    names = [str(key.get_attribute("data-series")) for key in plot.find_elements(By.CSS_SELECTOR, "[data-series]")]
    labels = plot.find_elements(By.CSS_SELECTOR, "svg .label")
    assert sorted(label.text for label in labels) == sorted(names)
    heights = sorted(label.rect["y"] for label in labels)
    assert all(lower - upper > 8 for upper, lower in pairwise(heights)), "none lies on another"
    right = plot.find_element(By.CSS_SELECTOR, "svg[tabindex]").rect
    assert all(label.rect["x"] + label.rect["width"] <= right["x"] + right["width"] for label in labels), (
        "all are whole"
    )
    shapes = [line.find_element(By.CLASS_NAME, "marker").get_attribute("d") for line in lines_of(plot)]
    assert len(set(shapes)) == len(names) <= 8


def test_axes_begin_and_end_at_a_tick_in_one_notation(browser: webdriver.Chrome) -> None:
    resize(browser, 1500, 900)
    plot = browser.find_element(By.CSS_SELECTOR, "#pba-fig4 .plot")
    for _ in range(2):  # logarithmic, then linear
        grid = sorted(float(str(line.get_attribute("y1"))) for line in plot.find_elements(By.CSS_SELECTOR, ".grid"))
        drawn = [mark.rect["y"] for line in lines_of(plot) for mark in line.find_elements(By.CLASS_NAME, "marker")]
        top = plot.find_element(By.CSS_SELECTOR, "svg[tabindex]").rect["y"]
        assert grid[0] - 8 <= min(drawn) - top and max(drawn) - top <= grid[-1] + 8, (
            "no point lies beyond the last tick"
        )
        texts = [text.text for text in plot.find_elements(By.CSS_SELECTOR, "svg text[text-anchor=end]")]
        assert len(texts) == len(grid)
        assert not [text for text in texts if re.fullmatch(r"\d{4,}", text)], "1k, 10k, 100k"
        plot.find_element(By.CSS_SELECTOR, "[data-log]").send_keys(Keys.ENTER)
    heads = [row.get_attribute("textContent") for row in browser.find_elements(By.CSS_SELECTOR, "#pba-fig4 tbody th")]
    assert "2⁶" in heads and "64" not in heads


def lines_of(plot: WebElement) -> list[WebElement]:
    return plot.find_elements(By.CSS_SELECTOR, "svg [data-line]")


def test_pictures_of_it_can_be_taken(report: Path, tmp_path: Path) -> None:
    paths = take_pictures(report, tmp_path)
    assert [path.stem for path in paths] == list(PICTURES)
    assert all(path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000 for path in paths)


def test_it_is_legible_on_a_phone_and_in_the_dark(browser: webdriver.Chrome) -> None:
    light = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.find_element(By.ID, "theme").send_keys(Keys.ENTER)
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") != light
    resize(browser, 380, 800, mobile=True)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 380  # nothing sticks out
    assert browser.execute_script("return parseFloat(getComputedStyle(document.body).fontSize)") >= 16
    assert console(browser) == []
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_claims_are_judged_by_the_results(results: Path) -> None:
    found = {(each.claim.experiment, each.claim.published): each for each in judged(results)}
    assert found["slicing-fig8", "nearly level"].verdict == "holds"
    assert found["slicing-fig8", "nearly level"].ours == "83% of one window's"
    assert [each.verdict for each in judged(results) if each.claim.text.startswith("Buckets are")] == ["holds"]
    assert found["mta-exp1", "linear"].verdict == "not run"
    assert found["pba-fig8", "linear"].verdict == "not run"
    assert found["mta-exp3", "2.0× (1.8 against 3.5 µs)"].verdict == "not run"
    assert found["pba-fig4", "4×"].verdict == "needs a larger scale or more cores"
