"""The settings.ini of RCCrawler, as it is printed in its description."""

SETTINGS = (
    'ApplicationManager = "TextFileAM"  \n'
    'ApplicationFinishers = "WorkIsDoneAF,  \n'
    'TimeoutAF,StopFileAF"  \n'
    'DataManager = "BMICDM"  \n'
    'DownloadingThread = "DT0"  \n'
    'ParsingThread = "PT0"  \n'
    "ParsingThreadsCount = 2  \n"
    'RoutineThread = "RT0"  \n'
    'UrlAnalyzingThread = "EmptyUAT"  \n'
    'ResultUnloaders = "GephiSiteGraphRU,TestRU"  \n'
    "DownloadingThreadPDChunkSizeMultiplier = 5\n"
    "ParsingThreadPDChunkSize = 20  \n"
    "DownloadingThreadSleepTime = 1  \n"
    "ParsingThreadSleepTime = 1  \n"
    "RoutineThreadSleepTime = 1000  \n"
    'CommonLogFile = "logs/common_log.csv"  \n'
    'ErrorLogFile = "logs/error_log.csv"  \n'
    "DisplayCommonLog = 1  \n"
    "DisplayErrorLog = 1  \n"
    'RobotsTxtClass = "OnlyDisallowRobotsTxt"  \n'
    "TimeoutSeconds = 240000  \n"
    'ResultFolder = "result"  \n'
    "SaveDuplicates = 1  \n"
    'StopFile = "stop.txt"\n'
)
